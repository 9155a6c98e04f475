// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A Swift type whose values can be values of fields.
///
/// Texts, integers, floating-point numbers, Booleans (as 1 and 0: CloudKit has none), `Date`,
/// `Data`, locations, references, assets, and lists of them.
public protocol FieldConvertible {
    /// The value in a field.
    var fieldValue: FieldValue { get }

    /// Reads the value of a field; `nil` if it has another type, or is out of range.
    init?(fieldValue: FieldValue)
}

/// A Swift type whose values can be elements of list fields.
public protocol FieldElement: FieldConvertible {
    /// Returns the field value of a list of such values.
    static func listValue(_ list: [Self]) -> FieldValue

    /// Reads a list; `nil` if the field's value is not a list of matching elements.
    static func list(_ value: FieldValue) -> [Self]?
}

extension FieldValue: FieldConvertible {
    /// The value itself.
    public var fieldValue: FieldValue { self }

    /// Takes the value unchanged.
    public init?(fieldValue: FieldValue) { self = fieldValue }
}

extension String: FieldElement {
    /// Text.
    public var fieldValue: FieldValue { .string(self) }

    /// Reads text.
    public init?(fieldValue: FieldValue) {
        guard case .string(let text) = fieldValue else { return nil }
        self = text
    }

    /// Texts.
    public static func listValue(_ list: [String]) -> FieldValue { .stringList(list) }

    /// Reads texts.
    public static func list(_ value: FieldValue) -> [String]? {
        if case .stringList(let list) = value { list } else { nil }
    }
}

extension FieldElement where Self: FixedWidthInteger {
    /// A whole number.
    public var fieldValue: FieldValue { .int64(Int64(self)) }

    /// Reads a whole number that is in range.
    public init?(fieldValue: FieldValue) {
        guard case .int64(let number) = fieldValue else { return nil }
        self.init(exactly: number)
    }

    /// Whole numbers.
    public static func listValue(_ list: [Self]) -> FieldValue {
        .int64List(list.map { Int64($0) })
    }

    /// Reads whole numbers that are in range.
    public static func list(_ value: FieldValue) -> [Self]? {
        guard case .int64List(let numbers) = value else { return nil }
        let converted = numbers.compactMap { Self(exactly: $0) }
        // One number out of range makes the list unreadable. A shorter list would be saved back.
        return converted.count == numbers.count ? converted : nil
    }
}

// `UInt` and `UInt64` are left out: a field holds no number above `Int64.max`, so their conversion
// could trap.
extension Int: FieldElement {}
extension Int8: FieldElement {}
extension Int16: FieldElement {}
extension Int32: FieldElement {}
extension Int64: FieldElement {}
extension UInt16: FieldElement {}
extension UInt32: FieldElement {}

extension UInt8: FieldElement {
    /// Bytes, rather than a list of numbers.
    public static func listValue(_ list: [UInt8]) -> FieldValue { .bytes(list) }

    /// Reads bytes.
    public static func list(_ value: FieldValue) -> [UInt8]? {
        if case .bytes(let bytes) = value { bytes } else { nil }
    }
}

extension Bool: FieldElement {
    /// 1 or 0.
    public var fieldValue: FieldValue { .int64(self ? 1 : 0) }

    /// Reads a whole number: 0 is false, all others are true.
    public init?(fieldValue: FieldValue) {
        guard case .int64(let number) = fieldValue else { return nil }
        self = number != 0
    }

    /// A 1 or 0 for each.
    public static func listValue(_ list: [Bool]) -> FieldValue {
        .int64List(list.map { $0 ? 1 : 0 })
    }

    /// Reads whole numbers.
    public static func list(_ value: FieldValue) -> [Bool]? {
        if case .int64List(let list) = value { list.map { $0 != 0 } } else { nil }
    }
}

extension Double: FieldElement {
    /// A number.
    public var fieldValue: FieldValue { .double(self) }

    /// Reads a number, whole ones included.
    public init?(fieldValue: FieldValue) {
        switch fieldValue {
        case .double(let number): self = number
        // A whole number above 2^53 is rounded to the nearest double.
        case .int64(let number): self = Double(number)
        default: return nil
        }
    }

    /// Numbers.
    public static func listValue(_ list: [Double]) -> FieldValue { .doubleList(list) }

    /// Reads numbers, whole ones included.
    public static func list(_ value: FieldValue) -> [Double]? {
        switch value {
        case .doubleList(let list): list
        case .int64List(let list): list.map { Double($0) }
        default: nil
        }
    }
}

extension Float: FieldElement {
    /// A number.
    public var fieldValue: FieldValue { .double(Double(self)) }

    /// Reads the nearest number.
    public init?(fieldValue: FieldValue) {
        guard let number = Double(fieldValue: fieldValue) else { return nil }
        self = Float(number)
    }

    /// Numbers.
    public static func listValue(_ list: [Float]) -> FieldValue {
        .doubleList(list.map { Double($0) })
    }

    /// Reads the nearest numbers.
    public static func list(_ value: FieldValue) -> [Float]? {
        Double.list(value).map { $0.map { Float($0) } }
    }
}

extension Location: FieldElement {
    /// A place.
    public var fieldValue: FieldValue { .location(self) }

    /// Reads a place.
    public init?(fieldValue: FieldValue) {
        guard case .location(let place) = fieldValue else { return nil }
        self = place
    }

    /// Places.
    public static func listValue(_ list: [Location]) -> FieldValue { .locationList(list) }

    /// Reads places.
    public static func list(_ value: FieldValue) -> [Location]? {
        if case .locationList(let list) = value { list } else { nil }
    }
}

extension Reference: FieldElement {
    /// A link.
    public var fieldValue: FieldValue { .reference(self) }

    /// Reads a link.
    public init?(fieldValue: FieldValue) {
        guard case .reference(let link) = fieldValue else { return nil }
        self = link
    }

    /// Links.
    public static func listValue(_ list: [Reference]) -> FieldValue { .referenceList(list) }

    /// Reads links.
    public static func list(_ value: FieldValue) -> [Reference]? {
        if case .referenceList(let list) = value { list } else { nil }
    }
}

extension AssetReference: FieldElement {
    /// A blob.
    public var fieldValue: FieldValue { .asset(self) }

    /// Reads a blob.
    public init?(fieldValue: FieldValue) {
        guard case .asset(let blob) = fieldValue else { return nil }
        self = blob
    }

    /// Blobs.
    public static func listValue(_ list: [AssetReference]) -> FieldValue { .assetList(list) }

    /// Reads blobs.
    public static func list(_ value: FieldValue) -> [AssetReference]? {
        if case .assetList(let list) = value { list } else { nil }
    }
}

extension Array: FieldConvertible where Element: FieldElement {
    /// A list; of `UInt8` bytes.
    public var fieldValue: FieldValue { Element.listValue(self) }

    /// Reads a list.
    public init?(fieldValue: FieldValue) {
        guard let list = Element.list(fieldValue) else { return nil }
        self = list
    }
}

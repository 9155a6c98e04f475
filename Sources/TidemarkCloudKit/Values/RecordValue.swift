// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The value of a field as a record holds it: apart from the caller's objects, which may change.
enum RecordValue: Sendable {
    case string(String)
    case integer(Int64)
    /// A whole number that 64 bits with a sign do not hold.
    case unsigned(UInt64)
    case real(Double)
    case date(Date)
    case data(Data)
    case location(CLLocation)
    case reference(CKReference)
    case asset(CKAsset)
    /// Values of one kind, with the type of an element if it is known without an element.
    case list([RecordValue], of: FieldType?)

    /// Takes a value that a program sets; `nil` for a value that no record can hold.
    init?(_ value: Any) {
        guard let value = Self.unwrapped(value) else { return nil }
        // A cast alone is not enough: it would turn Swift's arrays into objects without an element
        // type.
        if type(of: value) is NSArray.Type, let list = value as? NSArray {
            self.init(elements: list.map { $0 }, of: nil)
        } else if let scalar = Self.scalar(value) {
            self = scalar
        } else if let list = value as? [Any] {
            self.init(elements: list, of: Self.elementType(of: value))
        } else {
            return nil
        }
    }

    private init?(elements: [Any], of type: FieldType?) {
        var values: [RecordValue] = []
        for element in elements {
            guard let element = Self.unwrapped(element), let value = Self.scalar(element) else {
                return nil
            }
            values.append(value)
        }
        guard let first = values.first else {
            self = .list([], of: type)
            return
        }
        guard values.allSatisfy({ $0.kind == first.kind }) else { return nil }
        self = .list(values, of: nil)
    }

    /// Returns a number, text or object, whether of Swift or of Foundation; `nil` for anything
    /// else.
    private static func scalar(_ value: Any) -> RecordValue? {
        // Swift's numbers first: a cast to NSNumber would turn a Boolean into any of them.
        switch value {
        case let value as any FixedWidthInteger:
            if let number = Int64(exactly: value) { return .integer(number) }
            return UInt64(exactly: value).map { .unsigned($0) }
        case let value as any BinaryFloatingPoint: return .real(Double(value))
        case let value as NSNumber: return number(value)
        case let value as CKReference: return .reference(value)
        case let value as CKAsset: return .asset(value)
        case let value as CLLocation: return .location(value)
        case let value as String: return .string(value)
        case let value as Date: return .date(value)
        case let value as Data: return .data(value)
        default: return nil
        }
    }

    private static func number(_ number: NSNumber) -> RecordValue {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): return .real(number.doubleValue)
        case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max):
            return .unsigned(number.uint64Value)
        default: return .integer(number.int64Value)
        }
    }

    /// Returns the content of an optional that was passed as a value.
    static func unwrapped(_ value: Any) -> Any? {
        guard let optional = value as? any OptionalValue else { return value }
        return optional.wrapped.flatMap(unwrapped)
    }

    /// Returns the type that the elements of an empty array of Swift's would have.
    private static func elementType(of list: Any) -> FieldType? {
        // An empty array can be cast to any other type of array: check its own type.
        let type = type(of: list)
        if type == [String].self { return .string }
        if type == [Date].self { return .timestamp }
        if type == [Data].self { return .bytes }
        if type == [CLLocation].self { return .location }
        if type == [CKReference].self { return .reference }
        if type == [CKAsset].self { return .asset }
        if type == [Double].self || type == [Float].self { return .double }
        if type == [CGFloat].self { return .double }
        if type == [Bool].self { return .int64 }
        if type == [NSDate].self { return .timestamp }
        if type == [NSData].self { return .bytes }
        return (list as? any IntegerList) == nil ? nil : .int64
    }
}

/// Recognizes an optional that was passed as `Any`.
private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { self }
}

private protocol IntegerList {}

extension Array: IntegerList where Element: FixedWidthInteger {}

extension RecordValue {
    /// Returns the type of a list's elements when it is saved; `nil` for an empty list.
    static func elementType(of elements: [RecordValue]) -> FieldType? {
        guard let first = elements.first else { return nil }
        guard first.kind == .double else { return first.kind }
        let isWhole = elements.allSatisfy { if case .real = $0 { false } else { true } }
        return isWhole ? .int64 : .double
    }

    /// The common type of the values of a list.
    private var kind: FieldType {
        switch self {
        case .string: .string
        // A list may mix all kinds of numbers: `model(_:of:in:)` makes them one type.
        case .integer, .unsigned, .real: .double
        case .date: .timestamp
        case .data: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        // Never compared: elements of a list are scalars.
        case .list: .stringList
        }
    }

    /// The object that a program reads: Foundation's, which casts to Swift's values.
    var object: any CKRecordValueProtocol {
        switch self {
        case .string(let text): NSString(string: text)
        case .integer(let number): NSNumber(value: number)
        case .unsigned(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .date(let date): NSDate(timeInterval: 0, since: date)
        case .data(let data): NSData(data: data)
        case .location(let place): place
        case .reference(let link): link
        case .asset(let asset): asset
        case .list(let values, _): NSArray(array: values.map { $0.object })
        }
    }

    /// The assets in it.
    var assets: [CKAsset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let values, _): values.flatMap(\.assets)
        default: []
        }
    }

    /// The texts in it.
    var texts: [String] {
        switch self {
        case .string(let text): [text]
        case .list(let values, _): values.flatMap(\.texts)
        default: []
        }
    }
}

// MARK: The service

extension RecordValue {
    /// Creates a value from that of a record in a zone.
    init(_ model: FieldValue, in zone: ZoneID) {
        switch model {
        case .string(let text): self = .string(text)
        case .int64(let number): self = .integer(number)
        case .double(let number): self = .real(number)
        case .bytes(let bytes): self = .data(Data(bytes))
        case .timestamp(let time): self = .date(Date(milliseconds: time))
        case .location(let place): self = .location(CLLocation(place))
        case .reference(let link): self = .reference(CKReference(link, in: zone))
        case .asset(let blob): self = .asset(CKAsset(blob))
        default:
            let elements = model.elements.map { RecordValue($0, in: zone) }
            self = .list(elements, of: model.type.element)
        }
    }

    /// Returns the value in the form of a record in a zone.
    ///
    /// Throws `invalidArguments` for a number or a date that 64 bits do not hold, and
    /// `assetFileNotFound` for an asset whose bytes were not sent.
    func model(in zone: ZoneID) throws(CKError) -> FieldValue {
        switch self {
        case .string(let text): return .string(text)
        case .integer(let number): return .int64(number)
        case .unsigned(let number):
            throw CKError(
                .invalidArguments,
                "The number \(number) is too large: whole numbers have 64 bits with a sign."
            )
        case .real(let number): return .double(number)
        case .date(let date): return .timestamp(try date.milliseconds)
        case .data(let data): return .bytes(Array(data))
        case .location(let place): return .location(try place.model)
        case .reference(let link): return .reference(link.model(in: zone))
        case .asset(let asset):
            guard let model = asset.model else {
                throw CKError(
                    .assetFileNotFound,
                    "The bytes of the asset \(asset.fileURL?.path ?? "") were not sent."
                )
            }
            return .asset(model)
        case .list(let values, let type):
            return try Self.model(values, of: type, in: zone)
        }
    }

    /// True if no type is known for a list without elements.
    ///
    /// A save sends no value for it: a first save would give the field a type that later elements do
    /// not have (Docs/cloudkit.md, "Records and values").
    var isUntypedEmptyList: Bool {
        if case .list(let values, of: nil) = self { values.isEmpty } else { false }
    }

    private static func model(
        _ values: [RecordValue],
        of type: FieldType?,
        in zone: ZoneID
    ) throws(CKError) -> FieldValue {
        var models: [FieldValue] = []
        for value in values { models.append(try value.model(in: zone)) }
        // One number with a fraction makes all numbers of the list doubles.
        if models.contains(where: { $0.type == .double }) {
            models = models.map { model in
                if case .int64(let number) = model { .double(Double(number)) } else { model }
            }
        }
        // An empty list has the type of the Swift array or of the list that the field had before.
        return FieldValue(listOf: models, ofType: models.first?.type ?? type ?? .string)
    }
}

// MARK: Archives

extension RecordValue {
    /// A value as earlier versions archived it: one member is set.
    struct Archive: Decodable {
        var string: String?
        var integer: Int64?
        /// The bits of a number that has no sign.
        var unsigned: Int64?
        /// The bits of a number, so that every one survives.
        var real: Int64?
        var date: Double?
        var data: Data?
        var location: CLLocation.Archive?
        var reference: CKReference.Archive?
        var asset: CKAsset.Archive?
        var list: [Archive]?
        var elementType: UInt8?
    }

    init?(_ archive: Archive) {
        if let text = archive.string {
            self = .string(text)
        } else if let number = archive.integer {
            self = .integer(number)
        } else if let number = archive.unsigned {
            self = .unsigned(UInt64(bitPattern: number))
        } else if let bits = archive.real {
            self = .real(Double(bitPattern: UInt64(bitPattern: bits)))
        } else if let seconds = archive.date {
            self = .date(Date(timeIntervalSinceReferenceDate: seconds))
        } else if let data = archive.data {
            self = .data(data)
        } else if let place = archive.location {
            self = .location(CLLocation(place))
        } else if let link = archive.reference {
            self = .reference(CKReference(link))
        } else if let asset = archive.asset.flatMap({ CKAsset($0) }) {
            self = .asset(asset)
        } else if let values = archive.list {
            self = .list(
                values.compactMap { RecordValue($0) },
                of: archive.elementType.flatMap { FieldType(rawValue: $0) }
            )
        } else {
            return nil
        }
    }
}

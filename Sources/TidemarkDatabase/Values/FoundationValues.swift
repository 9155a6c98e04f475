// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Date: FieldElement {
    /// Milliseconds since 1970 as the nearest date.
    package init(milliseconds: Int64) {
        // Most such quotients are not exact, so `milliseconds` rounds to return the same number.
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// The nearest millisecond since 1970.
    package var milliseconds: Int64 {
        // Dates outside of the range of a field become its ends.
        Int64(exactly: (timeIntervalSince1970 * 1000).rounded())
            ?? (self < Date(milliseconds: 0) ? .min : .max)
    }

    /// The time, to the millisecond.
    public var fieldValue: FieldValue { .timestamp(milliseconds) }

    /// Reads a time.
    public init?(fieldValue: FieldValue) {
        guard case .timestamp(let time) = fieldValue else { return nil }
        self.init(milliseconds: time)
    }

    /// Times, to the millisecond.
    public static func listValue(_ list: [Date]) -> FieldValue {
        .timestampList(list.map(\.milliseconds))
    }

    /// Reads times.
    public static func list(_ value: FieldValue) -> [Date]? {
        if case .timestampList(let times) = value {
            times.map { Date(milliseconds: $0) }
        } else {
            nil
        }
    }
}

extension FieldValue {
    /// Returns a time, to the millisecond.
    public static func date(_ date: Date) -> FieldValue { date.fieldValue }
}

extension Data: FieldElement {
    /// Bytes.
    public var fieldValue: FieldValue { .bytes([UInt8](self)) }

    /// Reads bytes.
    public init?(fieldValue: FieldValue) {
        guard case .bytes(let bytes) = fieldValue else { return nil }
        self.init(bytes)
    }

    /// Several byte strings.
    public static func listValue(_ list: [Data]) -> FieldValue {
        .bytesList(list.map { [UInt8]($0) })
    }

    /// Reads several byte strings.
    public static func list(_ value: FieldValue) -> [Data]? {
        if case .bytesList(let list) = value { list.map { Data($0) } } else { nil }
    }
}

/// A type whose values are stored as text.
private protocol KeptAsText {
    var keptText: String { get }
    init?(keptText: String)
}

extension KeptAsText {
    fileprivate static func read(_ value: FieldValue) -> Self? {
        if case .string(let text) = value { Self(keptText: text) } else { nil }
    }

    fileprivate static func readList(_ value: FieldValue) -> [Self]? {
        guard case .stringList(let texts) = value else { return nil }
        let list = texts.compactMap { Self(keptText: $0) }
        // One element that cannot be read makes the list unreadable. A shorter list would be saved
        // back.
        return list.count == texts.count ? list : nil
    }
}

extension UUID: FieldElement, KeptAsText {
    fileprivate var keptText: String { uuidString }
    fileprivate init?(keptText: String) { self.init(uuidString: keptText) }

    /// The UUID's text.
    public var fieldValue: FieldValue { .string(keptText) }

    /// Reads a UUID's text.
    public init?(fieldValue: FieldValue) {
        guard let value = Self.read(fieldValue) else { return nil }
        self = value
    }

    /// Texts.
    public static func listValue(_ list: [UUID]) -> FieldValue { .stringList(list.map(\.keptText)) }

    /// Reads texts.
    public static func list(_ value: FieldValue) -> [UUID]? { readList(value) }
}

extension URL: FieldElement, KeptAsText {
    fileprivate var keptText: String { absoluteString }
    fileprivate init?(keptText: String) { self.init(string: keptText) }

    /// The URL's text.
    public var fieldValue: FieldValue { .string(keptText) }

    /// Reads a URL's text.
    public init?(fieldValue: FieldValue) {
        guard let value = Self.read(fieldValue) else { return nil }
        self = value
    }

    /// Texts.
    public static func listValue(_ list: [URL]) -> FieldValue { .stringList(list.map(\.keptText)) }

    /// Reads texts.
    public static func list(_ value: FieldValue) -> [URL]? { readList(value) }
}

extension Authorship {
    /// The time of the event, to the millisecond.
    public var date: Date { Date(milliseconds: time) }
}

extension Location {
    /// The time of the measurement, to the millisecond.
    public var date: Date? {
        get { timestamp.map { Date(milliseconds: $0) } }
        set { timestamp = newValue?.milliseconds }
    }
}

extension ShareParticipant {
    /// The time at which the participant was added, to the millisecond.
    public var addedDate: Date { Date(milliseconds: added) }
}

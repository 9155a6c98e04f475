// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A record as its bytes: system fields, then fields (Docs/formats/record.md).
///
/// These bytes are stored, cached, sent and compared. Equal records have equal bytes. A body does
/// not contain the sequence number of its event. A copy shares the bytes.
public struct RecordBody: Sendable {
    /// The bytes, whose frame was checked when the value was created.
    package let bytes: ArraySlice<UInt8>

    /// The first byte of every body of this format.
    package static let format: UInt8 = 1
    /// The offset of the creation time: 8 bytes, so that it can be changed in place.
    package static let createdTimeOffset = 8
    /// The offset of the modification time: 8 bytes, so that it can be changed in place.
    package static let modifiedTimeOffset = 16
    /// The offset of the first text.
    static let headerByteCount = 34

    /// Reads a body from untrusted bytes.
    ///
    /// Everything is checked. O(bytes).
    package init(validating bytes: ArraySlice<UInt8>) throws(BodyError) {
        // The frame first: the ranges of the texts are within the bytes only if it is sound.
        try self.init(stored: bytes)
        for text in [Text.recordName, .recordType] where range(of: text).isEmpty {
            throw BodyError("The \(text) is empty.", at: text.lengthOffset)
        }
        for text in Text.allCases where !UTF8Text.isValid(self, text) {
            throw BodyError("The \(text) is not UTF-8.", at: range(of: text).lowerBound)
        }
        do throws(BodyError) {
            _ = try Fields(validating: bytes[(bytes.startIndex + textEnd)...])
        } catch {
            throw BodyError(error.message, at: error.offset + textEnd)
        }
    }

    /// Creates a body from bytes whose checksum was verified.
    ///
    /// Only the frame is checked: the header, and that the texts and the table of the fields are
    /// within the bytes. No access leaves the bytes, whatever the rest contains: a field out of
    /// range reads as removed, a value that does not match its type as `nil`. `tidemark verify`
    /// checks everything. O(1).
    package init(stored bytes: ArraySlice<UInt8>) throws(BodyError) {
        if let error = Self.frameError(in: bytes.span.bytes) { throw error }
        self.bytes = bytes
    }

    /// Returns true if a payload has the frame of a body from an offset on, as ``init(stored:)``
    /// checks it.
    @inline(__always)
    package static func isFramed(_ payload: RawSpan, from offset: Int) -> Bool {
        guard offset >= 0, payload.byteCount - offset >= headerByteCount else { return false }
        let span = payload.extracting(offset..<payload.byteCount)
        // Format and flags in one comparison: the flags are the high byte, and are zero.
        guard span.word16(at: 0) == Int(format) else { return false }
        let textEnd = textEnd(in: span)
        // The eight lengths have 16 bits each, so their sum cannot overflow.
        guard span.byteCount >= textEnd + FieldEntry.tableOffset else { return false }
        let count = span.word16(at: textEnd)
        return span.byteCount >= textEnd + FieldEntry.tableOffset + count * FieldEntry.byteCount
    }

    private static func frameError(in span: RawSpan) -> BodyError? {
        // The frame of a body is checked for every record that is read. The cause is determined
        // only if the check failed.
        if isFramed(span, from: 0) { return nil }
        guard span.byteCount >= headerByteCount else {
            return BodyError(
                "A record's body has at least \(headerByteCount) bytes; found \(span.byteCount).",
                at: 0
            )
        }
        guard span.byte(at: 0) == format else {
            return BodyError(
                "Expected a record body of format \(format); found \(span.byte(at: 0)).",
                at: 0
            )
        }
        guard span.byte(at: 1) == 0 else {
            return BodyError("Expected no flags; found \(span.byte(at: 1)).", at: 1)
        }
        let textEnd = textEnd(in: span)
        guard textEnd <= span.byteCount else {
            return BodyError(
                "The texts end at byte \(textEnd), but there are \(span.byteCount) bytes.",
                at: headerByteCount
            )
        }
        for text in [Text.recordName, .recordType] where span.word16(at: text.lengthOffset) == 0 {
            return BodyError("The \(text) is empty.", at: text.lengthOffset)
        }
        do throws(BodyError) {
            try Fields.checkTable(span.extracting(textEnd..<span.byteCount))
            return nil
        } catch {
            return BodyError(error.message, at: error.offset + textEnd)
        }
    }

    /// Wraps bytes that were just encoded, or were read before: nothing is checked.
    package init(sound bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }
}

extension RecordBody {
    /// The texts of a body, in the order of their bytes.
    enum Text: Int, CaseIterable {
        case recordName
        case recordType
        case createdUser
        case createdDevice
        case modifiedUser
        case modifiedDevice
        case parent
        case share

        /// The offset of the text's length, which takes 2 bytes.
        var lengthOffset: Int {
            // The two times are between the third length and the fourth.
            rawValue < 3 ? 2 + 2 * rawValue : 24 + 2 * (rawValue - 3)
        }
    }

    /// Returns the range of a text.
    func range(of text: Text) -> Range<Int> { Self.range(of: text, in: bytes.span.bytes) }

    private static func range(of text: Text, in span: RawSpan) -> Range<Int> {
        var start = headerByteCount
        // The texts follow each other without offsets, so a text begins after the lengths of all
        // earlier ones.
        for earlier in 0..<text.rawValue {
            start += span.word16(at: Text(rawValue: earlier)?.lengthOffset ?? 0)
        }
        return start..<start + span.word16(at: text.lengthOffset)
    }

    /// The offset at which the texts end and the fields begin.
    var textEnd: Int { Self.textEnd(in: bytes.span.bytes) }

    @inline(__always)
    private static func textEnd(in span: RawSpan) -> Int {
        // Written out without a loop, because this runs for every record that is read.
        let early = span.word16(at: 2) + span.word16(at: 4) + span.word16(at: 6)
        let late = span.word16(at: 24) + span.word16(at: 26) + span.word16(at: 28)
        return headerByteCount + early + late + span.word16(at: 30) + span.word16(at: 32)
    }

    func textBytes(_ text: Text) -> ArraySlice<UInt8> {
        let range = range(of: text)
        return bytes[bytes.startIndex + range.lowerBound..<bytes.startIndex + range.upperBound]
    }

    private func string(_ text: Text) -> String? {
        guard bytes.span.bytes.word16(at: text.lengthOffset) > 0 else { return nil }
        return String(decoding: textBytes(text), as: UTF8.self)
    }

    /// The record's name.
    public var recordName: String { string(.recordName) ?? "" }

    /// The name's UTF-8 bytes, shared.
    package var recordNameBytes: ArraySlice<UInt8> { textBytes(.recordName) }

    /// The record's type.
    public var recordType: String { string(.recordType) ?? "" }

    /// The type's UTF-8 bytes, shared.
    package var recordTypeBytes: ArraySlice<UInt8> { textBytes(.recordType) }

    /// Returns true if the record has a type.
    ///
    /// O(bytes of the type).
    package func hasType(_ type: Name) -> Bool { Self.hasType(type, bytes.span.bytes) }

    /// Returns true if the bytes of a body with a sound frame have a type.
    static func hasType(_ type: Name, _ span: RawSpan) -> Bool {
        let byteCount = span.word16(at: Text.recordType.lengthOffset)
        guard byteCount == type.byteCount else { return false }
        // The type follows the name, which is the first text.
        let start = headerByteCount + span.word16(at: Text.recordName.lengthOffset)
        return type.hasBytes(span.extracting(start..<start + byteCount))
    }

    /// The user that saved the record first, as UTF-8, shared; empty if it is not known.
    package var createdUserBytes: ArraySlice<UInt8> { textBytes(.createdUser) }

    /// The user that saved this version, as UTF-8, shared; empty if it is not known.
    package var modifiedUserBytes: ArraySlice<UInt8> { textBytes(.modifiedUser) }

    /// The parent's name as UTF-8, shared; empty if there is none.
    package var parentNameBytes: ArraySlice<UInt8> { textBytes(.parent) }

    /// The share's name as UTF-8, shared; empty if there is none.
    package var shareNameBytes: ArraySlice<UInt8> { textBytes(.share) }

    /// The time of the record's first save, in milliseconds since 1970.
    package var createdTime: Int64 { time(at: Self.createdTimeOffset) }

    /// The time of this version's save, in milliseconds since 1970.
    package var modifiedTime: Int64 { time(at: Self.modifiedTimeOffset) }

    /// The time of the record's first save, and the user that made it.
    public var created: Authorship {
        Authorship(
            time: createdTime,
            user: string(.createdUser).map(UserID.init(_:)),
            device: string(.createdDevice)
        )
    }

    /// The time of this version's save, and the user that made it.
    public var modified: Authorship {
        Authorship(
            time: modifiedTime,
            user: string(.modifiedUser).map(UserID.init(_:)),
            device: string(.modifiedDevice)
        )
    }

    /// Returns true if the times, users and devices of both saves are the same as another record's.
    package func hasSameAuthorship(as other: RecordBody) -> Bool {
        let mine = bytes.span.bytes
        let theirs = other.bytes.span.bytes
        // In the header, the two times and the lengths of the four texts are these three words.
        return mine.word64(at: 6) == theirs.word64(at: 6)
            && mine.word64(at: 14) == theirs.word64(at: 14)
            && mine.word64(at: 22) == theirs.word64(at: 22)
            && ByteEquality.areEqual(authorBytes, other.authorBytes)
    }

    /// The four texts of the authorship, which follow each other.
    private var authorBytes: ArraySlice<UInt8> {
        let start = bytes.startIndex + range(of: .createdUser).lowerBound
        return bytes[start..<bytes.startIndex + range(of: .modifiedDevice).upperBound]
    }

    /// The name of the record above this one in a tree that is shared as a whole.
    public var parentName: String? { string(.parent) }

    /// The name of the share that this record is the root of.
    public var shareName: String? { string(.share) }

    /// The record's fields.
    ///
    /// They include removals, marked as such: ``Fields/present`` omits them.
    public var fields: Fields { Fields(sound: bytes[(bytes.startIndex + textEnd)...]) }

    /// The number of fields, removals included.
    package var fieldCount: Int { bytes.span.bytes.word16(at: textEnd) }

    private func time(at offset: Int) -> Int64 {
        Int64(bitPattern: bytes.span.bytes.word64(at: offset))
    }
}

extension RecordBody: Hashable {
    /// Returns true if two bodies have the same bytes.
    public static func == (lhs: RecordBody, rhs: RecordBody) -> Bool {
        ByteEquality.areEqual(lhs.bytes, rhs.bytes)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension UTF8Text {
    fileprivate static func isValid(_ body: RecordBody, _ text: RecordBody.Text) -> Bool {
        body.textBytes(text).withUnsafeBufferPointer(isValid)
    }
}

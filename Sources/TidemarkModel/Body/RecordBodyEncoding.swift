// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The part of a record's body that is not fields.
package struct RecordHeader: Sendable {
    /// The record's name.
    package let recordName: Name
    /// The record's type.
    package let recordType: Name
    /// The time of the first save, and the user that made it.
    ///
    /// Ignored if there is an older version, which has its own value.
    package let created: Authorship
    /// The time of the save of this version, and the user that makes it.
    package let modified: Authorship
    /// The name of the record above this one.
    package let parentName: Name?
    /// The name of the share that this record is the root of.
    package let shareName: Name?

    /// Creates the part of a record's body that is not fields.
    ///
    /// Every text has at most 65,535 bytes.
    @inlinable @inline(__always)
    package init(
        recordName: Name,
        recordType: Name,
        created: Authorship,
        modified: Authorship,
        parentName: Name? = nil,
        shareName: Name? = nil
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.created = created
        self.modified = modified
        self.parentName = parentName
        self.shareName = shareName
    }
}

extension RecordBody {
    /// Encodes a record's first version: the fields that are set.
    package init(_ header: RecordHeader, fields: Fields) {
        self.init(header, setting: fields, extent: .wholeRecord, over: nil, of: 0)
    }

    /// Encodes the version that follows from an older one and a client's changes.
    ///
    /// `old` is the version that it replaces and `oldSequence` the event that holds it; without
    /// `old`, the record is new.
    package init(
        _ header: RecordHeader,
        setting fields: Fields,
        extent: SaveExtent,
        over old: RecordBody?,
        of oldSequence: UInt64
    ) {
        var bytes = Self.room(for: header.recordName, header.recordType, fields, old)
        Self.append(
            named: header.recordName,
            type: header.recordType,
            created: BodyAuthor(header.created),
            modified: BodyAuthor(header.modified),
            parentName: header.parentName,
            shareName: header.shareName,
            setting: fields,
            extent: extent,
            over: old,
            of: oldSequence,
            to: &bytes
        )
        self.init(sound: bytes[...])
    }

    /// Encodes a version by an author that many versions share, without a parent or a share.
    package init(
        named name: Name,
        type: Name,
        by author: BodyAuthor,
        setting fields: Fields,
        extent: SaveExtent,
        over old: RecordBody?,
        of oldSequence: UInt64
    ) {
        var bytes = Self.room(for: name, type, fields, old)
        Self.append(
            named: name,
            type: type,
            created: author,
            modified: author,
            parentName: nil,
            shareName: nil,
            setting: fields,
            extent: extent,
            over: old,
            of: oldSequence,
            to: &bytes
        )
        self.init(sound: bytes[...])
    }

    /// Returns no bytes yet, with room for those of a usual version.
    private static func room(
        for name: Name,
        _ type: Name,
        _ fields: Fields,
        _ old: RecordBody?
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        let texts = name.byteCount + type.byteCount + 128
        bytes.reserveCapacity(
            headerByteCount + texts + fields.bytes.count + (old?.bytes.count ?? 0) / 2
        )
        return bytes
    }

    /// Appends a version's bytes to others, such as an event's: see
    /// ``init(_:setting:extent:over:of:)``.
    package static func append(
        named name: Name,
        type: Name,
        created: BodyAuthor,
        modified: BodyAuthor,
        parentName: Name?,
        shareName: Name?,
        setting fields: Fields,
        extent: SaveExtent,
        over old: RecordBody?,
        of oldSequence: UInt64,
        to bytes: inout [UInt8]
    ) {
        var texts = name.byteCount + type.byteCount + modified.texts.count
        texts += (parentName?.byteCount ?? 0) + (shareName?.byteCount ?? 0)
        texts += old.map { $0.createdTexts.count } ?? created.texts.count
        let start = bytes.count
        // The zeros are also the flags, and the lengths of texts that are absent. They make room for
        // the texts too, because an append to an array costs more than a short text.
        let byteCount = headerByteCount + texts
        bytes.append(addingCapacity: byteCount) { $0.append(repeating: 0, count: byteCount) }
        bytes.withUnsafeMutableBytes { bytes in
            let buffer = UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
            var end = headerByteCount
            buffer[0] = format
            // A record keeps its creator and its creation time through all versions.
            buffer.store(old?.createdTime ?? created.time, at: createdTimeOffset)
            buffer.store(modified.time, at: modifiedTimeOffset)
            // The texts have no offsets. A reader adds up the lengths before a text, so the texts
            // must be in the order of record.md, "Header and texts".
            buffer.put(name, as: .recordName, at: &end)
            buffer.put(type, as: .recordType, at: &end)
            if let old {
                buffer.putCreator(of: old, at: &end)
            } else {
                buffer.put(created, as: .createdUser, .createdDevice, at: &end)
            }
            buffer.put(modified, as: .modifiedUser, .modifiedDevice, at: &end)
            if let parentName { buffer.put(parentName, as: .parent, at: &end) }
            if let shareName { buffer.put(shareName, as: .share, at: &end) }
        }
        fields.merge(into: old?.fields, of: oldSequence, extent: extent, appendingTo: &bytes)
    }
}

extension RecordBody {
    /// The range of the texts of the creator, which follow the name and the type.
    fileprivate var createdTexts: Range<Int> {
        let bytes = bytes.span.bytes
        let start =
            Self.headerByteCount + bytes.word16(at: Text.recordName.lengthOffset)
            + bytes.word16(at: Text.recordType.lengthOffset)
        let count =
            bytes.word16(at: Text.createdUser.lengthOffset)
            + bytes.word16(at: Text.createdDevice.lengthOffset)
        return start..<start + count
    }
}

/// The time and the texts of an ``Authorship`` as a body has them, made once for all records of a
/// commit.
package struct BodyAuthor: Sendable {
    fileprivate let time: Int64
    /// The name of the user, then that of the device.
    fileprivate let texts: [UInt8]
    fileprivate let userByteCount: Int

    /// Encodes the texts, each of at most 65,535 bytes.
    package init(_ authorship: Authorship) {
        time = authorship.time
        let user = authorship.user.map { Array($0.name.string.utf8) } ?? []
        userByteCount = user.count
        texts = user + (authorship.deviceName.map { Array($0.string.utf8) } ?? [])
    }
}

// Functions with the end as an argument: a local function that changed a variable would box it.
extension UnsafeMutableRawBufferPointer {
    /// Overwrites bytes with a number, least significant first.
    @inline(__always)
    fileprivate func store<Word: FixedWidthInteger & BitwiseCopyable>(
        _ word: Word,
        at offset: Int
    ) {
        storeBytes(of: word.littleEndian, toByteOffset: offset, as: Word.self)
    }

    /// Stores a text at the end, and its length in its place; moves the end.
    fileprivate func put(_ text: Name, as place: RecordBody.Text, at end: inout Int) {
        let start = end
        end += text.withBytes { put(UnsafeRawBufferPointer($0), as: place, at: start) }
    }

    /// Stores both texts of an author, which follow one another.
    fileprivate func put(
        _ author: BodyAuthor,
        as user: RecordBody.Text,
        _ device: RecordBody.Text,
        at end: inout Int
    ) {
        let deviceByteCount = author.texts.count - author.userByteCount
        store(UInt16(truncatingIfNeeded: author.userByteCount), at: user.lengthOffset)
        store(UInt16(truncatingIfNeeded: deviceByteCount), at: device.lengthOffset)
        author.texts.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: self[end...]).copyMemory(from: $0)
        }
        end += author.texts.count
    }

    /// Stores the texts of the creator of another version, and their lengths; moves the end.
    fileprivate func putCreator(of old: RecordBody, at end: inout Int) {
        let texts = old.createdTexts
        let start = end
        old.bytes.withUnsafeBytes { old in
            copyLength(of: .createdUser, from: old)
            copyLength(of: .createdDevice, from: old)
            UnsafeMutableRawBufferPointer(rebasing: self[start...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: old[texts]))
        }
        end += texts.count
    }

    @inline(__always)
    private func copyLength(of text: RecordBody.Text, from old: UnsafeRawBufferPointer) {
        let length = old.loadUnaligned(fromByteOffset: text.lengthOffset, as: UInt16.self)
        storeBytes(of: length, toByteOffset: text.lengthOffset, as: UInt16.self)
    }

    /// Stores the bytes of a text, and returns their number.
    @inline(__always)
    private func put(
        _ utf8: UnsafeRawBufferPointer,
        as place: RecordBody.Text,
        at end: Int
    ) -> Int {
        // The creator of a header guarantees at most 65,535 bytes for each text.
        store(UInt16(truncatingIfNeeded: utf8.count), at: place.lengthOffset)
        UnsafeMutableRawBufferPointer(rebasing: self[end...]).copyMemory(from: utf8)
        return utf8.count
    }
}

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
        var bytes: [UInt8] = []
        let texts = header.recordName.byteCount + header.recordType.byteCount + 128
        bytes.reserveCapacity(
            Self.headerByteCount + texts + fields.bytes.count + (old?.bytes.count ?? 0) / 2
        )
        Self.append(
            header,
            setting: fields,
            extent: extent,
            over: old,
            of: oldSequence,
            to: &bytes
        )
        self.init(sound: bytes[...])
    }

    /// Appends a version's bytes to others, such as an event's: see
    /// ``init(_:setting:extent:over:of:)``.
    package static func append(
        _ header: RecordHeader,
        setting fields: Fields,
        extent: SaveExtent,
        over old: RecordBody?,
        of oldSequence: UInt64,
        to bytes: inout [UInt8]
    ) {
        // The texts are gathered first, because an append to an array costs more than a short text.
        withUnsafeTemporaryAllocation(
            byteCount: headerByteCount + header.textByteCount + (old?.textEnd ?? 0),
            alignment: 1
        ) { buffer in
            var end = headerByteCount
            // The zeros are also the flags, and the lengths of texts that are absent.
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<end])
                .initializeMemory(as: UInt8.self, repeating: 0)
            buffer[0] = format
            // A record keeps its creator and its creation time through all versions.
            let createdTime = old?.createdTime ?? header.created.time
            buffer.store(createdTime, at: createdTimeOffset)
            buffer.store(header.modified.time, at: modifiedTimeOffset)
            func put(_ utf8: UnsafeRawBufferPointer, as place: Text) {
                // The creator of the header guarantees at most 65,535 bytes for each text.
                buffer.store(UInt16(truncatingIfNeeded: utf8.count), at: place.lengthOffset)
                UnsafeMutableRawBufferPointer(rebasing: buffer[end...]).copyMemory(from: utf8)
                end += utf8.count
            }
            func append(_ text: Name?, as place: Text) {
                guard let text else { return }
                text.withBytes { put(UnsafeRawBufferPointer($0), as: place) }
            }
            func keep(_ place: Text, of old: RecordBody) {
                let range = old.range(of: place)
                old.bytes.withUnsafeBytes {
                    put(UnsafeRawBufferPointer(rebasing: $0[range]), as: place)
                }
            }
            // The texts have no offsets. A reader adds up the lengths before a text, so the texts
            // must be in the order of record.md, "Header and texts".
            append(header.recordName, as: .recordName)
            append(header.recordType, as: .recordType)
            if let old {
                keep(.createdUser, of: old)
                keep(.createdDevice, of: old)
            } else {
                append(header.created.user?.name, as: .createdUser)
                append(header.created.deviceName, as: .createdDevice)
            }
            append(header.modified.user?.name, as: .modifiedUser)
            append(header.modified.deviceName, as: .modifiedDevice)
            append(header.parentName, as: .parent)
            append(header.shareName, as: .share)
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<end]))
        }
        fields.merge(into: old?.fields, of: oldSequence, extent: extent, appendingTo: &bytes)
    }
}

extension RecordHeader {
    /// The number of bytes of all texts.
    fileprivate var textByteCount: Int {
        let names = recordName.byteCount + recordType.byteCount
        let authors = created.textByteCount + modified.textByteCount
        return names + authors + (parentName?.byteCount ?? 0) + (shareName?.byteCount ?? 0)
    }
}

extension Authorship {
    fileprivate var textByteCount: Int {
        (user?.name.byteCount ?? 0) + (deviceName?.byteCount ?? 0)
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Overwrites bytes with a number, least significant first.
    fileprivate func store<Word: FixedWidthInteger & BitwiseCopyable>(
        _ word: Word,
        at offset: Int
    ) {
        storeBytes(of: word.littleEndian, toByteOffset: offset, as: Word.self)
    }
}

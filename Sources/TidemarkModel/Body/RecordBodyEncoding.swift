// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What a record's body says beside its fields.
package struct RecordHeader: Sendable {
    /// The record's name.
    package var recordName: Name
    /// The record's type.
    package var recordType: Name
    /// When the record was first saved, and by whom.
    package var created: Authorship
    /// When this version is saved, and by whom.
    package var modified: Authorship
    /// The name of the record above this one.
    package var parentName: Name?
    /// The name of the share that this record is the root of.
    package var shareName: Name?

    /// Describes a record beside its fields.
    ///
    /// Every text has at most 65,535 bytes.
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

    /// Encodes the version that follows from an older one and what a client set and removed.
    ///
    /// `old` is the version it replaces and `oldSequence` the event that holds that; without one,
    /// nothing was there.
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
        let texts = (
            header.recordName.string, header.recordType.string,
            header.created.user?.userRecordName ?? "", header.created.device ?? "",
            header.modified.user?.userRecordName ?? "", header.modified.device ?? "",
            header.parentName?.string ?? "", header.shareName?.string ?? ""
        )
        bytes.append(format)
        bytes.append(0)
        bytes.append(length: texts.0)
        bytes.append(length: texts.1)
        bytes.append(length: texts.2)
        bytes.append(littleEndian: header.created.time)
        bytes.append(littleEndian: header.modified.time)
        bytes.append(length: texts.3)
        bytes.append(length: texts.4)
        bytes.append(length: texts.5)
        bytes.append(length: texts.6)
        bytes.append(length: texts.7)
        bytes.append(text: texts.0)
        bytes.append(text: texts.1)
        bytes.append(text: texts.2)
        bytes.append(text: texts.3)
        bytes.append(text: texts.4)
        bytes.append(text: texts.5)
        bytes.append(text: texts.6)
        bytes.append(text: texts.7)
        fields.merge(into: old?.fields, of: oldSequence, extent: extent, appendingTo: &bytes)
    }
}

extension [UInt8] {
    fileprivate mutating func append(length text: String) {
        append(littleEndian: UInt16(truncatingIfNeeded: text.utf8.count))
    }
}

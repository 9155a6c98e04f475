// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
package import TidemarkModel

extension ModifyRecordsRequest {
    /// The number of items: the saves and the deletions.
    package var itemCount: Int { saves.count + deletions.count }

    /// The number of bytes of all fields, as they are encoded.
    package var fieldByteCount: Int {
        // By index: a copy of each save would count all its references.
        saves.indices.reduce(0) { $0 + saves[$1].fields.bytes.count }
    }

    /// Throws if the request exceeds the limits as a whole.
    package func check(_ limits: Limits) throws(SyncError) {
        try limits.check(itemCount: itemCount)
        // As for one record: the encoded size is an upper bound.
        guard fieldByteCount > limits.bytesPerRequest else { return }
        let byteCount = saves.reduce(0) { $0 + $1.fields.contentByteCount }
        guard byteCount <= limits.bytesPerRequest else {
            throw .requestTooLarge(byteCount, limit: limits.bytesPerRequest)
        }
    }

    /// The bytes of the request's whole content, which show if a request id was reused with other
    /// content.
    package var contentBytes: [UInt8] {
        var bytes: [UInt8] = [isAtomic ? 1 : 0]
        // Most saves have fields of some hundred bytes, and names of a few dozen.
        bytes.reserveCapacity(16 + saves.count * 256)
        bytes.append(variableInteger: UInt64(saves.count))
        // By index: a copy of each save would count all its references.
        for index in saves.indices {
            bytes.append(saves[index].recordID)
            bytes.append(saves[index].typeName)
            bytes.append(string: saves[index].changeTag?.text ?? "")
            bytes.append(saves[index].policy.rawValue)
            bytes.append(saves[index].parent)
            if let share = saves[index].share { bytes.append(share) }
            bytes.append(variableInteger: UInt64(saves[index].fields.bytes.count))
            bytes.append(contentsOf: saves[index].fields.bytes)
        }
        for deletion in deletions {
            bytes.append(deletion.recordID)
            bytes.append(string: deletion.changeTag?.text ?? "")
        }
        return bytes
    }
}

extension ModifyZonesRequest {
    /// Throws if the request names a zone twice.
    package func checkNames() throws(SyncError) {
        var named: Set<ZoneID> = []
        for zone in saves + deletions {
            guard named.insert(zone).inserted else { throw .zoneNamedTwice(zone) }
        }
    }

    /// The bytes of the request's whole content.
    package var contentBytes: [UInt8] {
        // The first byte of a request for records is 0 or 1, so that the two kinds are never equal.
        var bytes: [UInt8] = [2]
        bytes.append(variableInteger: UInt64(saves.count))
        // The reason is a part of the content. No other kind of request begins with these values.
        if deletionReason != .deleted { bytes[0] = 3 + deletionReason.rawValue }
        for zone in saves + deletions {
            bytes.append(string: zone.zoneName)
            bytes.append(string: zone.ownerName)
        }
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ parent: ParentChange) {
        switch parent {
        case .unchanged: append(0)
        case .removed: append(1)
        case .set(let name):
            append(2)
            append(string: name.string)
        }
    }

    fileprivate mutating func append(_ share: ShareContent) {
        append(string: share.root ?? "")
        append(UInt8(share.publicPermission.rawValue))
        append(share.allowsAccessRequests ? 1 : 0)
        for users in [share.requesters, share.blocked] {
            // Zero stands for a missing list, so that it differs from an empty one.
            append(variableInteger: UInt64((users?.count ?? -1) + 1))
            for user in users ?? [] { append(string: user.userRecordName) }
        }
        append(variableInteger: UInt64(share.participants.count))
        for participant in share.participants {
            append(string: participant.id)
            append(string: participant.user?.userRecordName ?? "")
            append(string: participant.email)
            append(string: participant.phone)
            append(UInt8(participant.role.rawValue))
            append(UInt8(participant.permission.rawValue))
            append(participant.isOneTime ? 1 : 0)
        }
    }

    fileprivate mutating func append(_ record: RecordID) {
        append(record.zone.name)
        append(record.zone.owner)
        append(record.name)
    }

    fileprivate mutating func append(_ name: Name) {
        name.withBytes { utf8 in
            append(variableInteger: UInt64(utf8.count))
            append(contentsOf: utf8)
        }
    }
}

extension SyncError {
    /// Returns the error for a request that names a zone twice.
    static func zoneNamedTwice(_ zone: ZoneID) -> SyncError {
        SyncError(
            .invalidArguments,
            "The request has two items for the zone \(zone); send one item for each zone."
        )
    }
}

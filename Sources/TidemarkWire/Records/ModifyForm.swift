// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

extension RecordsForm where Request == ModifyRecordsRequest, Answer == ModifyRecordsResult {
    /// Records to save and to delete.
    static var modify: RecordsForm {
        RecordsForm(
            writeRequest: { (request) throws(SyncError) in try ModifyForm.message(for: request) },
            readRequest: { (bytes) throws(WireFormError) in try ModifyForm.request(from: bytes) },
            writeAnswer: { (answer) throws(SyncError) in
                let saves = try WireOutcome.all(answer.saves)
                let deletions = try WireOutcome.all(answer.deletions)
                return WireMessage(.records) { writer in
                    writer.begin(.modifyAnswer)
                    writer.append(saves)
                    writer.append(deletions)
                }
            },
            readAnswer: { (bytes) throws(WireFormError) in
                var reader = try WireReader(bytes, .modifyAnswer)
                let saves = try reader.recordOutcomes()
                let deletions = try reader.deletionOutcomes()
                try reader.finish()
                return ModifyRecordsResult(saves: saves, deletions: deletions)
            }
        )
    }
}

private enum ModifyForm {
    private static let isAtomic: UInt8 = 1

    static func message(for request: ModifyRecordsRequest) throws(SyncError) -> WireMessage {
        // The content of shares is JSON, which is created once.
        var shares: [[UInt8]] = []
        for save in request.saves {
            if let share = save.share { shares.append(try WireCoding.bytes(of: share)) }
        }
        // The closure runs twice, once to count. Encoding may fail and costs time, so it is done
        // before.
        return WireMessage(.records) { [shares] writer in
            writer.begin(.modifyRequest)
            writer.append(request.isAtomic ? isAtomic : 0)
            writer.append(UInt32(truncatingIfNeeded: request.saves.count))
            // Inside of the closure, as `shareCount`: each of the two passes must begin anew.
            var zones = ZoneMemory()
            var shareCount = 0
            for save in request.saves {
                let hasZone = zones.changes(to: save.recordID.zone)
                append(save, hasZone: hasZone, to: &writer)
                if save.boxedShare.hasContent {
                    writer.append(blob: shares[shareCount][...])
                    shareCount += 1
                }
                writer.append(blob: save.fields.bytes)
            }
            writer.append(UInt32(truncatingIfNeeded: request.deletions.count))
            // The reader begins with an empty memory here too, so the first deletion names its
            // zone.
            zones = ZoneMemory()
            for deletion in request.deletions {
                let hasZone = zones.changes(to: deletion.recordID.zone)
                writer.append(
                    (hasZone ? ItemFlags.hasZone : 0)
                        | (deletion.changeTag == nil ? 0 : ItemFlags.hasTag)
                )
                if hasZone { writer.append(deletion.recordID.zone) }
                writer.append(deletion.recordID.name)
                if let tag = deletion.changeTag { writer.append(tag) }
            }
        }
    }

    /// Appends a save without the content of a share and the fields.
    private static func append(_ save: RecordSave, hasZone: Bool, to writer: inout WireWriter) {
        var flags: UInt8 = hasZone ? ItemFlags.hasZone : 0
        if save.changeTag != nil { flags |= ItemFlags.hasTag }
        switch save.parent {
        case .unchanged: break
        case .set: flags |= ItemFlags.setsParent
        case .removed: flags |= ItemFlags.removesParent
        }
        if save.boxedShare.hasContent { flags |= ItemFlags.hasShare }
        // The parts stand in the order of the table in Docs/formats/wire.md, "Kind 5".
        writer.append(flags)
        writer.append(save.policy.rawValue)
        if hasZone { writer.append(save.recordID.zone) }
        writer.append(save.recordID.name)
        writer.append(save.typeName)
        if let tag = save.changeTag { writer.append(tag) }
        if case .set(let parent) = save.parent { writer.append(parent) }
    }

    static func request(from bytes: [UInt8]) throws(WireFormError) -> ModifyRecordsRequest {
        var reader = try WireReader(bytes, .modifyRequest)
        let flags = try reader.flags(isAtomic)
        var request = ModifyRecordsRequest(isAtomic: flags == isAtomic)
        var zones = ZoneMemory()
        // The smallest save has flags and a policy (1 byte each), and the lengths of its name, type
        // and fields (4 bytes each).
        let saveCount = try reader.count(ofItems: 14)
        request.saves.reserveCapacity(saveCount)
        for _ in 0..<saveCount { request.saves.append(try save(from: &reader, &zones)) }
        zones = ZoneMemory()
        // The smallest deletion has flags (1 byte) and the length of its name (4 bytes).
        let deletionCount = try reader.count(ofItems: 5)
        request.deletions.reserveCapacity(deletionCount)
        for _ in 0..<deletionCount {
            let flags = try reader.flags(ItemFlags.hasZone | ItemFlags.hasTag)
            let zone = try zones.zone(follows: flags & ItemFlags.hasZone != 0, from: &reader)
            let id = RecordID(recordName: try reader.string(), zone: zone)
            let tag = flags & ItemFlags.hasTag == 0 ? nil : RecordChangeTag(try reader.string())
            request.deletions.append(RecordDeletion(id, changeTag: tag))
        }
        try reader.finish()
        return request
    }

    private static func save(
        from reader: inout WireReader,
        _ zones: inout ZoneMemory
    ) throws(WireFormError) -> RecordSave {
        let flags = try reader.flags(
            ItemFlags.hasZone | ItemFlags.hasTag | ItemFlags.setsParent | ItemFlags.removesParent
                | ItemFlags.hasShare
        )
        let number = try reader.byte()
        // The numbers of `SavePolicy` are also on disk, so they never change.
        guard let policy = SavePolicy(rawValue: number) else {
            throw WireFormError("there is no save policy \(number)", at: reader.offset - 1)
        }
        let zone = try zones.zone(follows: flags & ItemFlags.hasZone != 0, from: &reader)
        let id = RecordID(recordName: try reader.string(), zone: zone)
        let type = try reader.string()
        let tag = flags & ItemFlags.hasTag == 0 ? nil : RecordChangeTag(try reader.string())
        let parent: ParentChange
        switch flags & (ItemFlags.setsParent | ItemFlags.removesParent) {
        case 0: parent = .unchanged
        case ItemFlags.setsParent: parent = .set(try reader.string())
        case ItemFlags.removesParent: parent = .removed
        default:
            throw WireFormError("a parent is either set or removed", at: reader.offset)
        }
        let share =
            flags & ItemFlags.hasShare == 0 ? nil : try reader.json(ShareContent.self)
        return RecordSave(
            id,
            type: type,
            fields: try reader.fields(),
            parent: parent,
            changeTag: tag,
            policy: policy,
            share: share
        )
    }
}

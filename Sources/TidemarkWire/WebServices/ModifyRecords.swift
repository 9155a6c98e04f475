// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `records/modify`: saves and deletes records.
extension WebServices {
    func modifyRecords(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        guard request.caller.user != nil else { throw .authenticationRequired }
        let receipts = ReceiptUses(host, request.caller)
        var modification = Modification(caller: request.caller, host: host)
        var operations: [WebOperation]?
        var isAtomic = true
        var desiredKeys: [String]?
        var writer = WebWriter(self, request)
        try request.read(receipts: receipts.asset(of:)) { (it, name) throws(JSONError) in
            switch name {
            case "operations":
                operations = try it.values { (it) throws(JSONError) in
                    try it.operation(receipts)
                }
            case "zoneID": modification.zone = try it.zoneID()
            case "atomic": isAtomic = try it.truth()
            case "desiredKeys": desiredKeys = try it.strings()
            case "numbersAsStrings": writer.numbersAsStrings = try it.truth()
            default: return false
            }
            return true
        }
        modification.operations = try checked(operations, "operations")
        modification.name()
        let needed = modification.neededRecords
        if !needed.isEmpty {
            let fetch = FetchRecordsRequest(needed)
            let found = try await ask { (it) throws(SyncError) in
                try await it.fetchRecords(fetch, as: request.caller)
            }
            modification.known = Dictionary(zip(needed, found)) { first, _ in first }
        }
        modification.decide()
        let failing = isAtomic ? modification.failingSaves : []
        let modify = ModifyRecordsRequest(
            saves: failing.isEmpty ? modification.saves : modification.saves + failing,
            deletions: modification.deletions,
            isAtomic: isAtomic
        )
        let result = try await ask { (it) throws(SyncError) in
            try await it.modifyRecords(modify, as: request.caller)
        }
        let outcomes = modification.outcomes(of: result)
        writer.openRecords(outcomes.count)
        await write(into: &writer, request) { writer in
            // By indices: pairs of operations and outcomes would copy each record several times.
            writer.list(outcomes.indices) { writer, index in
                let operation = modification.operations[index]
                let name = operation.record.recordName ?? ""
                switch outcomes[index] {
                case .success(let record?):
                    let keys = operation.answeredKeys(desiredKeys, isFull: writer.isFull)
                    writer.record(
                        record.narrowed(to: keys.map { FieldSelection($0) }),
                        shortGUID: shortGUID(operation, record, request.caller)
                    )
                case .success(nil):
                    writer.literal("{\"recordName\":")
                    writer.string(name)
                    writer.literal(",\"deleted\":true}")
                case .failure(let error): writer.failure(error, ofRecord: name)
                }
            }
        }
        return writer.finished()
    }

    /// Returns the end of the link to a record's future share, if the operation requests it.
    ///
    /// Only the owner of a zone receives it, and only for a record that can be shared.
    private func shortGUID(
        _ operation: WebOperation,
        _ record: Record,
        _ caller: Caller
    ) -> String? {
        guard operation.record.createsShortGUID, caller.database.scope == .private,
            !record.zone.isDefault, !record.body.isShare
        else { return nil }
        return host.shortGUID(of: record.recordID, as: caller)
    }
}

extension WebOperation {
    /// Returns the fields that an answer has; `nil` for all.
    ///
    /// In an answer that is full, these are selected fields that the operation sets. The record is
    /// saved, so this cannot be an error. The client has these values, and the request's limit
    /// bounds their bytes.
    fileprivate func answeredKeys(_ defaults: [String]?, isFull: Bool) -> [String]? {
        let selected = desiredKeys ?? defaults
        guard isFull else { return selected }
        return record.fields.map(\.name).filter { selected?.contains($0) ?? true }
    }
}

/// The plan of a request's operations: the requests to a service.
private struct Modification {
    let caller: Caller
    let host: any WebHost
    var zone: ZoneID?
    var operations: [WebOperation] = []
    /// The current records, for operations that do not contain all that a save requires.
    var known: [RecordID: Result<Record, SyncError>] = [:]

    private(set) var saves: [RecordSave] = []
    private(set) var deletions: [RecordDeletion] = []
    private(set) var outcomes: [Outcome] = []

    /// The place at which the outcome of an operation is found.
    enum Outcome {
        case save(Int)
        case deletion(Int)
        // Indirect, because an error is many times as large as an index.
        indirect case refused(WebError)
    }

    /// Generates a name for each new record without one.
    mutating func name() {
        for index in operations.indices
        where operations[index].record.recordName == nil && operations[index].kind.mayCreate {
            let record = operations[index].record
            operations[index].record.recordName =
                if !record.isShare {
                    UniqueName.make(forItem: index, of: caller)
                } else if record.share.rootName == nil {
                    Share.zoneWideName
                } else {
                    "Share-" + UniqueName.make(forItem: index, of: caller)
                }
        }
    }

    private func recordID(_ record: WebRecord) -> RecordID {
        RecordID(recordName: record.recordName ?? "", zone: zone ?? record.zone ?? .default)
    }

    /// The records without whose present state some operation cannot be decided.
    var neededRecords: [RecordID] {
        operations.lazy.filter { operation in
            let record = operation.record
            guard record.recordName != nil, !operation.kind.isDeletion else { return false }
            // Both need the record itself: an asset that is named by its checksum alone, and a
            // share of which the request has only some members.
            if record.hasUnresolvedAssets || !record.share.isEmpty && operation.kind != .create {
                return true
            }
            guard operation.kind != .create else { return false }
            return record.recordType == nil || !operation.kind.isForced && record.changeTag == nil
        }.map { recordID($0.record) }
    }

    mutating func decide() {
        saves.reserveCapacity(operations.count)
        outcomes.reserveCapacity(operations.count)
        for operation in operations {
            do throws(WebError) {
                if operation.kind.isDeletion {
                    deletions.append(try deletion(operation))
                    outcomes.append(.deletion(deletions.count - 1))
                } else {
                    saves.append(try save(operation))
                    outcomes.append(.save(saves.count - 1))
                }
            } catch {
                outcomes.append(.refused(error))
            }
        }
    }

    private func deletion(_ operation: WebOperation) throws(WebError) -> RecordDeletion {
        guard operation.record.recordName != nil else {
            throw .badRequest("The member \"recordName\" is missing.")
        }
        let tag = operation.kind == .delete ? operation.record.changeTag : nil
        return RecordDeletion(
            recordID(operation.record),
            changeTag: tag.map { RecordChangeTag($0) }
        )
    }

    private func save(_ operation: WebOperation) throws(WebError) -> RecordSave {
        let record = operation.record
        guard record.recordName != nil else {
            throw .badRequest("The member \"recordName\" is missing.")
        }
        let id = recordID(record)
        var policy: SavePolicy = operation.kind.replaces ? .replace : .changedKeys
        var tag: RecordChangeTag?
        switch operation.kind {
        // Without a tag, this policy succeeds only if there is no record, as `create` requires.
        case .create: policy = .ifServerRecordUnchanged
        case .update, .replace:
            if let text = record.changeTag {
                tag = RecordChangeTag(text)
                policy = operation.kind.replaces ? .replaceIfUnchanged : .ifServerRecordUnchanged
            } else {
                // Without a tag the last writer wins, over an existing record.
                // A deletion between the fetch and the save is not noticed: the save then creates
                // the record again.
                _ = try current(id)
            }
        default: break
        }
        let type: String
        if let given = record.recordType {
            type = given
        } else if operation.kind != .create, case .success(let found)? = known[id] {
            type = found.recordType
        } else if operation.kind != .create, !operation.kind.isForced {
            type = try current(id).recordType
        } else {
            throw .badRequest("The member \"recordType\" is missing.")
        }
        try checkReceipts(of: record, type, id.zone)
        return RecordSave(
            id,
            type: type,
            fields: try resolvedFields(of: record, id),
            parent: record.parent,
            changeTag: tag,
            policy: policy,
            share: try shareContent(of: operation, id)
        )
    }

    /// Returns the current record.
    private func current(_ id: RecordID) throws(WebError) -> Record {
        switch known[id] {
        case .success(let record)?: return record
        case .failure(let error)?: throw WebError(error)
        case nil:
            throw .badRequest(
                "The request has two operations for the record \(id); send one for each record."
            )
        }
    }

    /// Refuses a receipt that was given for another field.
    private func checkReceipts(
        of record: WebRecord,
        _ type: String,
        _ zone: ZoneID
    ) throws(WebError) {
        // Each field is read once: a list may have thousands of assets, each with a receipt.
        var checksums: [String: Set<[UInt8]>] = [:]
        for use in record.receipts {
            // A receipt of `assets/rereference` has no target and fits every field.
            guard let target = use.target else { continue }
            if checksums[target.fieldName] == nil {
                let assets = record.fields[target.fieldName]?.assets ?? []
                checksums[target.fieldName] = Set(assets.map(\.checksum))
            }
            guard target.recordType.isEmpty || target.recordType == type, target.zone == zone,
                checksums[target.fieldName]?.contains(use.asset.checksum) == true
            else {
                throw .badRequest(
                    "The receipt was given for the field '\(target.fieldName)' of the type "
                        + "'\(target.recordType)' in the zone '\(target.zone.zoneName)'; get one for this field."
                )
            }
        }
    }

    /// Returns the fields, in which assets that the record has already are named in full.
    private func resolvedFields(
        of record: WebRecord,
        _ id: RecordID
    ) throws(WebError) -> Fields {
        guard record.hasUnresolvedAssets else { return record.fields }
        let held = heldAssets(of: id)
        var builder = FieldsBuilder()
        do throws(SyncError) {
            for field in record.fields {
                var value = field.value
                switch value {
                case .asset(let asset)?: value = .asset(try Self.found(asset, in: held))
                case .assetList(let assets)?:
                    value = .assetList(
                        try assets.map { (asset) throws(SyncError) in
                            try Self.found(asset, in: held)
                        }
                    )
                default: break
                }
                try builder.set(field.name, value, isEncrypted: field.isEncrypted)
            }
            return try builder.finish()
        } catch {
            throw WebError(error)
        }
    }

    /// Returns the assets of the current record, by the checksums that clients see.
    private func heldAssets(of id: RecordID) -> [[UInt8]: AssetReference] {
        guard case .success(let record)? = known[id] else { return [:] }
        let assets = record.fields.flatMap { $0.value?.assets ?? [] }
        return Dictionary(zip(assets.map(WebFieldForm.shownChecksum), assets)) { first, _ in first }
    }

    /// Returns the asset of the record that a client named by its visible checksum.
    private static func found(
        _ asset: AssetReference,
        in held: [[UInt8]: AssetReference]
    ) throws(SyncError) -> AssetReference {
        guard WebFieldForm.isUnresolved(asset) else { return asset }
        // Clients see 20 of the 32 bytes of the checksum, and the record has the rest. A client can
        // therefore name no asset that the record does not have.
        if let same = held[WebFieldForm.shownChecksum(of: asset)] { return same }
        throw SyncError(
            .invalidArguments,
            "The record has no such asset, and the request has no receipt; upload the asset, or "
                + "call assets/rereference."
        )
    }

    private func shareContent(
        of operation: WebOperation,
        _ id: RecordID
    ) throws(WebError) -> ShareContent? {
        let record = operation.record
        guard record.isShare || !record.share.isEmpty else { return nil }
        if operation.kind == .create {
            var content = ShareContent(
                root: record.share.rootName,
                publicPermission: record.share.publicPermission ?? .none,
                participants: record.share.participants ?? []
            )
            // The same text that `createShortGUID` returned before the share existed.
            if let root = record.share.rootName, caller.database.scope == .private {
                let rootID = RecordID(recordName: root, zone: id.zone)
                content.token = host.shortGUID(of: rootID, as: caller)
            }
            return content
        }
        guard record.share.publicPermission != nil || record.share.participants != nil,
            let share = try current(id).share
        else { return nil }
        var content = ShareContent(share)
        if let permission = record.share.publicPermission { content.publicPermission = permission }
        if let participants = record.share.participants { content.participants = participants }
        return content
    }

    // MARK: Outcomes

    /// Saves that fail: one in each zone where requests are all or nothing and an operation was
    /// refused.
    ///
    /// The service does not see what was refused here. With these saves it refuses the other
    /// operations of the zone too, and finds the errors that they have themselves.
    var failingSaves: [RecordSave] {
        // CloudKit ignores `atomic` for the default zone. Public databases have no other.
        guard saves.count + deletions.count < outcomes.count, caller.database.scope != .public
        else { return [] }
        let named = Set(saves.map(\.recordID) + deletions.map(\.recordID))
        var zones: Set<ZoneID> = []
        return outcomes.indices.compactMap { index in
            guard case .refused = outcomes[index] else { return nil }
            var id = recordID(operations[index].record)
            guard !id.zone.isDefault, zones.insert(id.zone).inserted else { return nil }
            // The service refuses a request with two items for one record.
            if named.contains(id) {
                id = RecordID(
                    recordName: UniqueName.make(forItem: index, of: caller),
                    zone: id.zone
                )
            }
            // A save with a tag fails if there is no record, and no record has this tag.
            return RecordSave(
                id,
                type: "Refused",
                fields: Fields(),
                changeTag: RecordChangeTag("none")
            )
        }
    }

    /// Returns the outcome of each operation, in its order.
    func outcomes(of result: ModifyRecordsResult) -> [Result<Record?, WebError>] {
        outcomes.indices.map { place in
            switch outcomes[place] {
            case .refused(let error): return .failure(error)
            case .save(let index):
                switch result.saves[index] {
                case .success(let record): return .success(record)
                case .failure(let error): return .failure(WebError(error))
                }
            case .deletion(let index):
                switch result.deletions[index] {
                case .success: return .success(nil)
                case .failure(let error): return .failure(WebError(error))
                }
            }
        }
    }
}

extension WebOperation.Kind {
    /// True if the operation may make a record.
    fileprivate var mayCreate: Bool {
        self == .create || self == .forceUpdate || self == .forceReplace
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension ZoneHandle {
    // MARK: Typed records

    /// Saves a value as a new record.
    ///
    /// By default it is saved only if there is no record with its name. `.changedKeys` and the
    /// other policies of ``SavePolicy`` save over an existing one. Durable when it returns.
    ///
    /// Throws `serverRecordChanged`, with the records of the conflict, if the record exists.
    @discardableResult
    public func save<Value: RecordCodable>(
        _ value: Value,
        parent: ParentChange = .unchanged,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) async throws -> Stored<Value> {
        let save = try RecordSave(new: value, in: id, parent: parent, policy: policy)
        let record = try await self.save(save)
        switch policy {
        case .ifServerRecordUnchanged, .replace, .replaceIfUnchanged:
            // Not decoded again: the record has exactly the fields of the value.
            return Stored(record, value)
        case .changedKeys, .allKeys, .merge:
            // The record may have fields that the value does not name. As a part of the value, they
            // would look removed to the next save.
            return try Stored(record)
        }
    }

    /// Saves the changes of a record since it was read.
    ///
    /// By default the record is saved only if it is still that version. `.merge` also saves if
    /// others have changed other fields in the meantime. If nothing was changed, nothing is sent,
    /// and the argument is returned. Durable when it returns.
    ///
    /// Throws `serverRecordChanged`, with the records of the conflict, if the record was changed by
    /// others.
    @discardableResult
    public func save<Value>(
        _ stored: Stored<Value>,
        parent: ParentChange = .unchanged,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) async throws -> Stored<Value> {
        let save = try RecordSave(changed: stored, in: self, parent: parent, policy: policy)
        // A save of equal values would make a new version, with a new tag (semantics.md, "Saving").
        if save.fields.isEmpty, parent == .unchanged { return stored }
        // Decoded again: the saved record also has fields that others have changed since.
        return try Stored(try await self.save(save))
    }

    /// Fetches the record with a name as a typed value.
    ///
    /// Throws `unknownItem` if there is none, and `invalidArguments` if it does not fit the type.
    public func fetch<Value: RecordCodable>(
        _ type: Value.Type,
        _ record: some RecordNamed
    ) async throws -> Stored<Value> {
        try Stored(try await fetch(record))
    }

    /// Fetches the record with a name as a typed value; `nil` if there is none.
    public func fetchIfPresent<Value: RecordCodable>(
        _ type: Value.Type,
        _ record: some RecordNamed
    ) async throws -> Stored<Value>? {
        try await fetchIfPresent(record).map { (record) throws(SyncError) in try Stored(record) }
    }

    /// Fetches a record, changes it, and saves the changes; retries if others save it in between.
    ///
    /// `change` may run several times. Durable when it returns.
    @discardableResult
    public func update<Value: RecordCodable>(
        _ type: Value.Type,
        _ record: some RecordNamed,
        _ change: (inout Value) throws -> Void
    ) async throws -> Stored<Value> {
        var stored = try await fetch(type, record)
        while true {
            // Other saves can succeed each time, so a cancelled task must not wait for its own
            // success.
            try Task.checkCancellation()
            try change(&stored.value)
            do {
                return try await save(stored)
            } catch let error as SyncError where error.code == .serverRecordChanged {
                // Another save succeeded in between, so of all callers in this loop one makes
                // progress each time.
                stored = try await fetch(type, record)
            }
        }
    }

    // MARK: Records

    /// Saves fields of a record; a field with the value `nil` is removed, fields that are not named
    /// stay.
    ///
    /// By default the record is saved only if it is still the version of `changeTag`, or, without a
    /// tag, if there is none. Durable when it returns.
    @discardableResult
    public func save(
        _ record: some RecordNamed,
        type recordType: String,
        fields: Fields,
        parent: ParentChange = .unchanged,
        changeTag: RecordChangeTag? = nil,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) async throws -> Record {
        let save = RecordSave(
            try recordID(record),
            type: recordType,
            fields: fields,
            parent: parent,
            changeTag: changeTag,
            policy: policy
        )
        return try await self.save(save)
    }

    func save(_ save: RecordSave) async throws -> Record {
        let request = ModifyRecordsRequest(saves: [save])
        return try await service.modifyRecords(request, as: caller).saves.only()
    }

    /// Fetches the record with a name.
    ///
    /// Throws `unknownItem` if there is none.
    public func fetch(_ record: some RecordNamed) async throws -> Record {
        let request = FetchRecordsRequest([try recordID(record)])
        return try await service.fetchRecords(request, as: caller).only()
    }

    /// Fetches the record with a name; `nil` if there is none.
    public func fetchIfPresent(_ record: some RecordNamed) async throws -> Record? {
        do {
            return try await fetch(record)
        } catch let error as SyncError where error.code == .unknownItem {
            // A missing zone is an error and not `nil`: its code is `zoneNotFound`.
            return nil
        }
    }

    /// Deletes a record: given a fetched record, only that version; given a name, any version.
    ///
    /// Durable when it returns.
    public func delete(_ record: some RecordNamed) async throws {
        let deletion = RecordDeletion(try recordID(record), changeTag: record.readVersion)
        let request = ModifyRecordsRequest(deletions: [deletion])
        _ = try await service.modifyRecords(request, as: caller).deletions.only()
    }

    // MARK: Batches

    /// Saves and deletes several records by one commit: all of them, or none.
    ///
    /// ```swift
    /// try await garden.modify { batch in
    ///     batch.save(chore)
    ///     batch.delete(old)
    /// }
    /// ```
    ///
    /// Returns the saved records, in order. Durable when it returns. In the default zone and in a
    /// public database each item is independent: if this throws, the other items were done.
    ///
    /// Throws the error of the item that made the commit fail. Throws `partialFailure`, with the
    /// error of each item, if several failed, or if the items are independent.
    @discardableResult
    public func modify(_ build: (inout RecordBatch) throws -> Void) async throws -> [Record] {
        var batch = RecordBatch(self)
        try build(&batch)
        let request = try batch.request()
        if request.saves.isEmpty, request.deletions.isEmpty { return [] }
        let result = try await service.modifyRecords(request, as: caller)
        guard let failure = result.partialFailure(of: request) else {
            return try result.saves.map { (save) throws(SyncError) in try save.get() }
        }
        let causes = failure.partialErrors.filter { $0.error.code != .batchRequestFailed }
        // If all other items failed only because of one, the error of that one says most.
        let isAllOrNothing =
            failure.partialErrors.count == request.saves.count + request.deletions.count
        if isAllOrNothing, causes.count == 1 { throw causes[0].error }
        throw failure
    }
}

extension RecordSave {
    /// Saves a value as a new record.
    init(
        new value: some RecordCodable,
        in zone: ZoneID,
        parent: ParentChange,
        policy: SavePolicy
    ) throws(SyncError) {
        self.init(
            value.recordID(in: zone),
            type: type(of: value).recordType,
            fields: try value.fields(),
            parent: parent,
            policy: policy
        )
    }

    /// Creates a save of the changes of a record since it was read.
    init<Value>(
        changed stored: Stored<Value>,
        in zone: ZoneHandle,
        parent: ParentChange,
        policy: SavePolicy
    ) throws(SyncError) {
        // A replacing policy removes all fields that the save does not name. So the save must name
        // all of them.
        let replaces = policy == .replace || policy == .replaceIfUnchanged
        // The name is the record's identity. Under another name, the save would create a second
        // record.
        guard stored.value.id.name == Name(stored.record.recordID.recordName) else {
            throw SyncError(
                .invalidArguments,
                "The record \(stored.record.recordID) cannot be renamed to \(stored.value.id).",
                remedy: "Save the value as a new record, and delete the old one."
            )
        }
        self.init(
            try zone.recordID(stored),
            type: Value.recordType,
            fields: replaces ? try stored.value.fields() : try stored.changedFields(),
            parent: parent,
            changeTag: stored.changeTag,
            policy: policy
        )
    }
}

extension Array {
    /// Returns the result of a request for one item.
    package func only<Value>() throws(SyncError) -> Value
    where Element == Result<Value, SyncError> {
        guard count == 1 else {
            throw SyncError(
                .internalError,
                "The service returned \(count) outcomes for a request with one item."
            )
        }
        return try self[0].get()
    }
}

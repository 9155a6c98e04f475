// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
public import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The operator's door to schemas: no permission of a user matters here.
extension Store {
    /// The schema of a container in one of its environments, as it is now.
    ///
    /// O(schema) after a change of it, O(1) otherwise.
    public func schema(
        of container: ContainerID = .standard,
        in environment: Environment = .development
    ) throws(SyncError) -> Schema {
        try engine.schema(of: container, in: environment)
    }

    /// Makes development's schema what another says, if the rules of ``SchemaPlan`` allow it, and
    /// returns what changed.
    ///
    /// Durable when it returns. Throws `invalidArguments` with every reason if it is refused: then
    /// nothing has changed.
    @discardableResult
    public func importSchema(
        _ schema: Schema,
        into container: ContainerID = .standard
    ) async throws(SyncError) -> SchemaPlan {
        try await engine.change(schemaOf: container, in: .development) { [options] in
            .importing(
                schema,
                into: $0.development,
                production: $0.production,
                limits: options.limits
            )
        }
    }

    /// Makes production's schema what development's is, if the rules of ``SchemaPlan`` allow it, and
    /// returns what changed.
    ///
    /// Durable when it returns. Throws `invalidArguments` with every reason if it is refused: then
    /// nothing has changed.
    @discardableResult
    public func promoteSchema(
        of container: ContainerID = .standard
    ) async throws(SyncError) -> SchemaPlan {
        try await engine.change(schemaOf: container, in: .production) { [options] in
            .promoting($0.development, to: $0.production, limits: options.limits)
        }
    }

    /// Changes what queries may do with a field in the schema of one environment, and returns what
    /// changed.
    ///
    /// A promotion makes production's indexes those of development, so change them there too. Durable
    /// when it returns.
    ///
    /// Throws `unknownItem` or `invalidArguments` if there is no such record type or field, and
    /// `invalidArguments` for an index that the field's type cannot have.
    @discardableResult
    public func changeIndexes(
        of field: Name,
        in recordType: Name,
        adding added: Schema.Indexes = [],
        removing removed: Schema.Indexes = [],
        of container: ContainerID = .standard,
        in environment: Environment = .development
    ) async throws(SyncError) -> SchemaPlan {
        try await engine.change(schemaOf: container, in: environment) {
            [options] schemas throws(SyncError) in
            let (development, production) = schemas
            var wanted = environment == .development ? development : production
            guard var type = wanted[recordType] else { throw .recordTypeNotFound(recordType) }
            guard var own = type[field] else { throw .fieldNotFound(field, in: recordType) }
            own.indexes.formUnion(added)
            own.indexes.subtract(removed)
            type.set(own)
            wanted.set(type)
            let limits = options.limits
            return environment == .development
                ? .importing(wanted, into: development, production: production, limits: limits)
                : .promoting(wanted, to: production, limits: limits)
        }
    }
}

extension Engine {
    /// See ``Store/schema(of:in:)``.
    func schema(
        of container: ContainerID,
        in environment: Environment
    ) throws(SyncError) -> Schema {
        let database = DatabaseID(container: container, environment: environment, scope: .public)
        return try schema(of: database, try picture(.visible)).schema
    }

    /// Changes the schema of one environment as a plan over both says; the plan is made again if
    /// somebody else was faster.
    func change(
        schemaOf container: ContainerID,
        in environment: Environment,
        _ plan: ((development: Schema, production: Schema)) throws(SyncError) -> SchemaPlan
    ) async throws(SyncError) -> SchemaPlan {
        let writing = try writer()
        func database(_ environment: Environment) -> DatabaseID {
            DatabaseID(container: container, environment: environment, scope: .public)
        }
        let caller = Caller(database: database(environment))
        try options.limits.check(caller)
        try await writing.committer.waitForRoom()
        while true {
            let picture = try picture(.appended)
            let development = try schema(of: database(.development), picture)
            let production = try schema(of: database(.production), picture)
            let wanted = try plan((development.schema, production.schema))
            let lookedAt = SequenceNumber(
                rawValue: max(development.lastSequence, production.lastSequence)
            )
            let change = try SystemChange.schema(from: wanted.current, to: wanted.target)
            if wanted.error != nil || change.isEmpty {
                try await writing.committer.waitUntilDurable(lookedAt)
                if let error = wanted.error { throw error }
                return wanted
            }
            guard
                let last = try append(change, as: caller, picture, writing.committer)
            else { continue }
            try await writing.committer.waitUntilDurable(last)
            return wanted
        }
    }

    /// Appends a commit that does nothing but change a system zone; `nil` if something that it rests
    /// on has changed since the picture was taken.
    func append(
        _ change: SystemChange,
        as caller: Caller,
        _ picture: ViewPicture,
        _ committer: Committer
    ) throws(SyncError) -> SequenceNumber? {
        let time = now()
        var plan = CommitPlan(time: time, received: time, bound: picture.bound, hash: views.hash)
        let author = Authorship(time: time, user: caller.user, device: caller.device)
        try plan.add(change, of: caller.database, by: author, over: picture.facts)
        plan.seal(as: caller, nil, outcomes: [])
        return try committer.append(&plan)?.last
    }
}

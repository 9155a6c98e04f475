// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLock
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// Schemas as far as requests have read them, so that the next ones do not read that again.
struct StoredSchemas: Sendable {
    private static let countLimit = 1_000

    /// A class, so that looking at the last one copies no database.
    private final class Known: Sendable {
        let database: DatabaseID
        let types: KnownTypes
        /// The last change of a system zone when the schema was read.
        let asOf: SequenceNumber

        init(_ database: DatabaseID, _ types: KnownTypes, asOf: SequenceNumber) {
            self.database = database
            self.types = types
            self.asOf = asOf
        }
    }

    private var schemas: [DatabaseID: Known] = [:]
    /// The entry of `schemas` that was used last: comparing one database costs less than hashing it.
    private var last: Known?
    /// A container with an empty production schema, as of the last change of a system zone.
    private var unpromoted: (container: ContainerID, asOf: SequenceNumber)?

    /// Returns the record types that were read of a schema, and whether no system zone has changed since.
    mutating func known(
        of database: DatabaseID,
        asOf sequence: SequenceNumber
    ) -> (types: KnownTypes, isCurrent: Bool)? {
        if let last, last.database == database { return (last.types, last.asOf == sequence) }
        guard let known = schemas[database] else { return nil }
        last = known
        return (known.types, known.asOf == sequence)
    }

    mutating func keep(_ types: KnownTypes, of database: DatabaseID, asOf sequence: SequenceNumber)
    {
        // A request over an older picture may end later. It must not replace newer types.
        if let known = schemas[database], known.asOf > sequence { return }
        if schemas.count >= Self.countLimit { schemas = [:] }
        let known = Known(database, types, asOf: sequence)
        schemas[database] = known
        last = known
    }

    /// Returns true if the production schema of a container is known to be empty.
    ///
    /// Compares and does not hash, because every save in development asks this.
    func isUnpromoted(_ container: ContainerID, asOf sequence: SequenceNumber) -> Bool {
        guard let unpromoted else { return false }
        return unpromoted.asOf == sequence && unpromoted.container == container
    }

    mutating func noteUnpromoted(_ container: ContainerID, asOf sequence: SequenceNumber) {
        unpromoted = (container, sequence)
    }
}

/// The record types that were read of one schema, between two changes of it.
final class KnownTypes: Sendable {
    /// The key of the zone with the schema; `nil` if there is none.
    let zone: ZoneKey?
    /// Position of the last event in it; zero if there is no zone.
    let lastSequence: SequenceNumber
    private let state: Lock<State>

    /// The maximum number of known record types.
    private static let countLimit = 10_000

    struct State {
        /// The record types that were requested, including those that do not exist.
        var excerpts: [Name: StoredSchema] = [:]
        /// The excerpt that was used last: most requests save one type.
        fileprivate var last: (name: Name, excerpt: StoredSchema)?
        var whole: Schema?
        var typeCountBound: Int?

        fileprivate mutating func excerpt(_ name: Name) -> StoredSchema? {
            if let last, last.name == name { return last.excerpt }
            guard let excerpt = excerpts[name] else { return nil }
            last = (name, excerpt)
            return excerpt
        }
    }

    init(zone: ZoneKey?, lastSequence: SequenceNumber, _ state: State = State()) {
        self.zone = zone
        self.lastSequence = lastSequence
        self.state = Lock(state)
    }

    func excerpt(_ name: Name) -> StoredSchema? { state.withLock { $0.excerpt(name) } }

    func keep(_ excerpt: StoredSchema, _ name: Name) {
        state.withLock { state in
            if state.excerpts.count >= Self.countLimit { state.excerpts = [:] }
            state.excerpts[name] = excerpt
        }
    }

    /// The whole schema; read if it was not before.
    func whole(_ read: () throws(SyncError) -> Schema) throws(SyncError) -> Schema {
        // Reading happens outside the lock, because it takes long. Two concurrent reads give the
        // same schema.
        if let known = state.withLock({ $0.whole }) { return known }
        let whole = try read()
        state.withLock { state in
            state.whole = whole
            state.typeCountBound = whole.recordTypes.count
        }
        return whole
    }

    /// A bound of the number of record types; counted if it was not before.
    func typeCountBound(_ count: () throws(SyncError) -> Int) throws(SyncError) -> Int {
        if let known = state.withLock({ $0.typeCountBound }) { return known }
        let bound = try count()
        state.withLock { $0.typeCountBound = bound }
        return bound
    }

    /// A copy of the state, in which types may change.
    var content: State {
        var content = state.withLock { $0 }
        content.last = nil
        return content
    }
}

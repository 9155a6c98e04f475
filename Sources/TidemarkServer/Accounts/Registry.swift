// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkDatabase
import TidemarkModel

/// The records of the server's callers and of its receivers.
///
/// They are tokens, keys, accounts, sessions, couriers, webhooks and administrators. They are in a
/// container that no token gives access to, so that they are as durable as all other records. Only
/// hashes of secrets are stored.
struct Registry: Sendable {
    let tokens: ZoneHandle
    let keys: ZoneHandle
    let accounts: ZoneHandle
    let sessions: ZoneHandle
    let couriers: ZoneHandle
    let webhooks: ZoneHandle
    let containers: ZoneHandle
    let administrators: ZoneHandle
    /// The zone with the records of administrators' requests.
    let administration: ZoneHandle

    /// The container of the registry.
    static let container = ContainerID.server
    private static let owner = UserID("_server")

    /// Creates missing parts of the registry, or none, for a store that is open for reading.
    init(_ service: any DatabaseService, creating: Bool) async throws {
        let id = DatabaseID(
            container: Self.container,
            // In development, record types need no schema that somebody imports first.
            environment: .development,
            scope: .private,
            owner: Self.owner
        )
        let caller = Caller(
            database: id,
            user: Self.owner,
            device: "server",
            // A store that requires authentication admits only administrators to this container.
            authentication: .administrator(id: "server")
        )
        let database = Database(service, as: caller)
        func zone(_ name: String) async throws -> ZoneHandle {
            creating ? try await database.createZone(name) : database.zone(name)
        }
        tokens = try await zone("tokens")
        keys = try await zone("keys")
        accounts = try await zone("accounts")
        sessions = try await zone("sessions")
        couriers = try await zone("couriers")
        webhooks = try await zone("webhooks")
        containers = try await zone("containers")
        administrators = try await zone("administrators")
        administration = try await zone("administration")
    }
}

extension ZoneHandle {
    /// Returns all records of a type in a zone of the registry, as they are.
    ///
    /// A store that no server has had open for writing has no such zone, and so no such records.
    func all<Value: RecordCodable>(_ type: Value.Type) async throws -> [Stored<Value>] {
        do {
            return try await allRecords(type)
        } catch let error as SyncError where error.code == .zoneNotFound {
            return []
        }
    }

    private func allRecords<Value: RecordCodable>(
        _ type: Value.Type
    ) async throws -> [Stored<Value>] {
        var found: [RecordID: Stored<Value>] = [:]
        // A pass over the whole zone. A query would need the query index, for zones with few
        // records.
        for try await change in changes() {
            switch change.event {
            case .changed(let record) where record.recordType == Value.recordType:
                found[record.recordID] = try Stored<Value>(record)
            case .deleted(let record): found[record.recordID] = nil
            case .reset: found = [:]
            case .changed: break
            }
        }
        return found.values.sorted { $0.record.created.time < $1.record.created.time }
    }
}
#endif

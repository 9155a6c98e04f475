// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel
import TidemarkWire

/// The ways to a store on which one suite checks what a `DatabaseService` promises.
enum ServiceHost: CaseIterable, CustomTestStringConvertible {
    case store, bytes, lossy

    var testDescription: String {
        switch self {
        case .store: "the store itself"
        case .bytes: "through bytes"
        case .lossy: "through bytes, where two of five connections are lost"
        }
    }

    /// Opens a store, and the services of its users.
    func open(options: StoreOptions = StoreOptions()) throws -> HostedStore {
        try HostedStore(self, options: options)
    }
}

/// A store on which a suite runs, and each user's way to it.
final class HostedStore: Sendable {
    let store: Store
    private let folder: ScratchFolder
    private let host: ServiceHost
    let losses: Losses

    init(_ host: ServiceHost, options: StoreOptions) throws {
        self.host = host
        var options = options
        options.requiresAuthentication = host != .store
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating, options: options)
        losses = Losses(seed: 1, percent: host == .lossy ? 40 : 0)
    }

    deinit {
        try? store.close()
    }

    /// The service as a user has it who has signed in; without one, as an anonymous reader has it.
    func service(of user: UserID?) -> any DatabaseService {
        switch host {
        case .store: store
        case .bytes, .lossy:
            RemoteService(
                over: InProcessTransport(service: store, user: user, losses: losses),
                patience: Patience(repetitions: 100, wait: { _ in await Task.yield() })
            )
        }
    }

    /// A device of a user.
    func device(_ user: UserID, _ name: String = "phone") -> HostedDevice {
        HostedDevice(
            service: service(of: user),
            caller: Caller(user: user, device: name)
        )
    }
}

/// One device: its service, and who it is.
struct HostedDevice {
    let service: any DatabaseService
    var caller: Caller
    var zone = ZoneID(zoneName: "Notes")

    func id(_ name: String) -> RecordID { RecordID(recordName: name, zone: zone) }

    func createZone() async throws {
        let result = try await service.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
        _ = try result.saves[0].get()
    }

    @discardableResult
    func save(
        _ name: String,
        _ fields: KeyValuePairs<String, FieldValue?>,
        tag: RecordChangeTag? = nil,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) async throws -> Record {
        let save = RecordSave(
            id(name),
            type: "Note",
            fields: try Fields(fields),
            changeTag: tag,
            policy: policy
        )
        let result = try await service.modifyRecords(
            ModifyRecordsRequest(saves: [save]),
            as: caller
        )
        return try result.saves[0].get()
    }

    func fetch(_ name: String) async throws -> Record {
        try await service.fetchRecords(FetchRecordsRequest([id(name)]), as: caller)[0].get()
    }

    /// All pages of a delta.
    func changes(
        since token: ChangeToken? = nil,
        limit: Int? = nil,
        byteLimit: Int? = nil
    ) async throws -> (changes: [RecordChange], token: ChangeToken, pageCount: Int) {
        var request = ZoneChangesRequest(
            zone: zone,
            since: token,
            limit: limit,
            byteLimit: byteLimit
        )
        var changes: [RecordChange] = []
        var count = 0
        while true {
            let page = try await service.zoneChanges(request, as: caller)
            changes += page.changes
            count += 1
            request.since = page.token
            if !page.moreComing { return (changes, page.token, count) }
        }
    }
}

extension HostedStore {
    /// The same caller, as the store itself accepts it on every host.
    func trusted(_ caller: Caller) -> Caller {
        var caller = caller
        caller.authentication = .administrator(id: "test")
        return caller
    }
}

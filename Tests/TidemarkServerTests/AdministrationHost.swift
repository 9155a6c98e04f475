// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Hummingbird
import HummingbirdTesting
import Synchronization
import TestSupport
import Testing
import Tidemark
import TidemarkAdministration
import TidemarkWire

@testable import TidemarkServer

/// The ways to a store on which one suite checks what an `AdministrationService` promises.
enum AdministrationHost: CaseIterable, CustomTestStringConvertible {
    case store, bytes, server

    var testDescription: String {
        switch self {
        case .store: "the store itself"
        case .bytes: "through bytes"
        case .server: "a server, over a socket"
        }
    }

    /// Runs a body with a store in which something has happened, and the service for it.
    func run(_ body: @Sendable (AdministeredStore) async throws -> Void) async throws {
        try await ServerUnderTest.run(self == .server ? .live : .router) { server in
            // The server has written events of its own by now.
            let start = server.store.lastSequence
            try await AdministeredStore.fill(server.store)
            // Who a caller is goes over no wire: whoever answers vouches for it.
            let files = StoreAdministration(of: server.store, at: server.folder, by: "test")
            let service: any AdministrationService
            switch self {
            case .store: service = files
            case .bytes: service = RemoteAdministration(over: BytesTransport(service: files))
            case .server:
                let secret = try await server.server.directory.addAdministrator(name: "ops")
                service = server.administration(secret)
            }
            try await body(
                AdministeredStore(
                    store: server.store,
                    path: server.folder,
                    files: files,
                    service: service,
                    start: start
                )
            )
        }
    }
}

/// A store in which something has happened.
struct AdministeredStore: Sendable {
    let store: Store
    let path: String
    /// The administration of the store itself, to compare with.
    let files: StoreAdministration
    let service: any AdministrationService
    /// The last event before the store was filled.
    let start: SequenceNumber

    /// The position of an event, counted from where filling began.
    func position(_ number: UInt64) -> SequenceNumber {
        SequenceNumber(rawValue: start.rawValue + number)
    }

    static let database = DatabaseID(owner: "anna")
    static let zone = ZoneID(zoneName: "Notes")

    static func id(_ name: String) -> RecordID { RecordID(recordName: name, zone: zone) }

    static func caller(_ device: String) -> Caller {
        Caller(user: "anna", device: device, authentication: .administrator(id: "test"))
    }

    /// Two devices save and delete, and one save is refused.
    static func fill(_ store: Store) async throws {
        let zones = try await store.modifyZones(
            ModifyZonesRequest(saves: [zone]),
            as: caller("phone")
        )
        _ = try zones.saves[0].get()
        func save(_ name: String, _ fields: Fields, from device: String) async throws {
            try await store.saveNote(id(name), fields, as: caller(device))
        }
        try await save("milk", ["title": "Milk", "count": 1], from: "phone")
        try await save("milk", ["title": "Oat milk", "count": 2], from: "pad")
        try await save("bread", ["title": "Bread\nand\nbutter"], from: "phone")
        for number in 0..<600 {
            try await save(
                "bulk-\(number / 2)",
                ["count": FieldValue.int64(Int64(number))],
                from: "pad"
            )
        }
        let gone = try await store.modifyRecords(
            ModifyRecordsRequest(deletions: [RecordDeletion(id("bread"))]),
            as: caller("pad")
        )
        _ = try gone.deletions[0].get()
        let refused = try await store.modifyRecords(
            ModifyRecordsRequest(saves: [RecordSave(id("milk"), type: "Note", fields: ["count": 9])]
            ),
            as: caller("phone")
        )
        guard case .failure = refused.saves[0] else { throw ServerUnderTest.Missing() }
        var request = ZoneChangesRequest(zone: zone)
        request.limit = 10
        _ = try await store.zoneChanges(request, as: caller("pad"))
    }
}

/// A transport to a service in the same process: everything goes through bytes.
struct BytesTransport: AdministrationTransport {
    let service: any AdministrationService
    /// Called when the service reports progress, on the thread that works.
    var onReport: @Sendable () -> Void = {}

    func send(
        _ call: [UInt8],
        to name: String,
        receive: ([UInt8]) async throws -> Void
    ) async throws {
        guard let type = StoreCalls.all.first(where: { $0.name == name }) else {
            throw SyncError(.invalidArguments, "There is no call '\(name)'.")
        }
        try await send(call, to: type, receive)
    }

    private func send<Call: AdministrationCall>(
        _ bytes: [UInt8],
        to type: Call.Type,
        _ receive: ([UInt8]) async throws -> Void
    ) async throws {
        let call = try AdministrationLines.call(type, from: bytes)
        // Progress is reported on any thread, and lines are received one after another.
        let reports = Mutex([[UInt8]]())
        do {
            try await AdministrationLines.answer(call, by: service) { done, total in
                onReport()
                reports.withLock { $0.append(AdministrationLines.progress(done, of: total)) }
            } write: { line in
                let before = reports.withLock { reports in
                    defer { reports = [] }
                    return reports
                }
                for report in before { try await receive(report) }
                try await receive(line)
            }
        } catch let error as SyncError {
            try await receive(AdministrationLines.failure(error))
        }
    }
}

extension ServerUnderTest {
    /// The administration of the server, by its socket.
    func administration(_ secret: String) -> RemoteAdministration<SocketTransport> {
        RemoteAdministration(over: SocketTransport(client: client, secret: secret))
    }
}

/// A transport to a server that runs, by a client that gathers each answer whole.
struct SocketTransport: AdministrationTransport {
    let client: PatientClient
    let secret: String

    func send(
        _ call: [UInt8],
        to name: String,
        receive: ([UInt8]) async throws -> Void
    ) async throws {
        let answer = try await client.execute(
            uri: "/tidemark/1/administration/" + name,
            method: .post,
            headers: [.authorization: "Bearer \(secret)"],
            body: ByteBuffer(bytes: call)
        )
        for line in answer.body.split(separator: UInt8(ascii: "\n")) {
            try await receive(Array(line))
        }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import Tidemark
package import TidemarkModel

/// A store, and the way to it of each user.
package protocol ServiceHosting: Sendable {
    /// The store itself.
    var store: Store { get }
    /// The user whom the suite calls by a name.
    func user(_ name: String) async throws -> UserID
    /// The service as somebody has it who has signed in.
    func service(of name: String) async throws -> any DatabaseService
}

extension ServiceHosting {
    /// A device of a user.
    package func device(_ name: String, _ device: String = "phone") async throws -> HostedDevice {
        HostedDevice(
            service: try await service(of: name),
            caller: Caller(user: try await user(name), device: device)
        )
    }

    /// The same caller, as the store itself accepts it on every host.
    package func trusted(_ caller: Caller) -> Caller {
        var caller = caller
        caller.authentication = .administrator(id: "test")
        return caller
    }
}

/// One device: its service, and who it is.
package struct HostedDevice: Sendable {
    package let service: any DatabaseService
    package var caller: Caller
    package var zone = ZoneID(zoneName: "Notes")

    /// Describes a device.
    package init(service: any DatabaseService, caller: Caller) {
        self.service = service
        self.caller = caller
    }

    package func id(_ name: String) -> RecordID { RecordID(recordName: name, zone: zone) }

    package func createZone() async throws {
        let result = try await service.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
        _ = try result.saves[0].get()
    }

    @discardableResult
    package func save(
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

    package func fetch(_ name: String) async throws -> Record {
        try await service.fetchRecords(FetchRecordsRequest([id(name)]), as: caller)[0].get()
    }

    /// All pages of a delta.
    package func changes(
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

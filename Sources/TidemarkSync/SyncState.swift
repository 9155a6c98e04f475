// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// A zone to create or to delete.
public enum OutgoingZone: Hashable, Sendable, Identifiable {
    /// The zone is created unless it exists.
    case save(ZoneID)
    /// The zone is deleted.
    case delete(ZoneID)

    /// The zone.
    public var id: ZoneID {
        switch self {
        case .save(let zone), .delete(let zone): zone
        }
    }
}

/// A record to save, with the app's version of it, or a record to delete.
public enum OutgoingRecord: Hashable, Sendable, Identifiable {
    /// The record is saved.
    case save(RecordID)
    /// The record is deleted.
    case delete(RecordID)

    /// The record.
    public var id: RecordID {
        switch self {
        case .save(let record), .delete(let record): record
        }
    }
}

/// The state that a device keeps between two runs of its sync loop.
///
/// The state is only valid together with the data that was fetched before it. If the state is saved
/// before that data, it hides changes. If the state is lost, everything is fetched again.
public struct SyncState: Sendable {
    /// The user of these changes; `nil` before a user has signed in.
    var user: UserID? { didSet { edition += 1 } }
    /// The token up to which the list of zones was fetched.
    var databaseToken: ChangeToken? { didSet { edition += 1 } }
    /// The token up to which each zone was fetched.
    var zoneTokens: [ZoneID: ChangeToken] = [:] { didSet { edition += 1 } }
    /// Zones that have changes which were not fetched yet, the longest known first.
    var unfetchedZones: [ZoneID] = [] { didSet { edition += 1 } }
    /// The zones in the pages so far of a whole list, which is fetched because the token of the list had
    /// expired; `nil` while none is.
    var relistedZones: Set<ZoneID>? { didSet { edition += 1 } }
    /// The zones to create and delete.
    var outgoingZones = Outbox<OutgoingZone>() { didSet { edition += 1 } }
    /// Records to save and remove.
    var outgoingRecords = Outbox<OutgoingRecord>() { didSet { edition += 1 } }
    /// True if the app has changes to send that it did not name.
    var hasUntrackedChanges = false { didSet { edition += 1 } }

    /// The number of changes of the state since it was created or read.
    private(set) var edition = 0

    /// Creates the state of a device that has never synced.
    public init() {}

    /// Drops everything.
    mutating func forget() {
        user = nil
        databaseToken = nil
        zoneTokens = [:]
        unfetchedZones = []
        relistedZones = nil
        outgoingZones = Outbox()
        outgoingRecords = Outbox()
        hasUntrackedChanges = false
    }
}

extension SyncState: Codable {
    private static let version = 1

    private enum CodingKeys: String, CodingKey {
        case version, user, databaseToken, zoneTokens, unfetchedZones, outgoingZones
        case outgoingRecords, hasUntrackedChanges, relistedZones, isSubscribed
    }

    private struct CodedZone: Codable {
        var name: String
        var owner: String
        var token: String?
        var isDeletion: Bool?

        init(_ zone: ZoneID, token: ChangeToken? = nil, isDeletion: Bool? = nil) {
            name = zone.zoneName
            owner = zone.ownerName
            self.token = token?.description
            self.isDeletion = isDeletion
        }

        var zone: ZoneID { ZoneID(zoneName: name, ownerName: owner) }
    }

    private struct CodedRecords: Codable {
        struct Record: Codable {
            var name: String
            /// Index among the zones.
            var zone: Int
            var isDeletion: Bool?
        }

        var zones: [CodedZone] = []
        var records: [Record] = []

        init(_ changes: [OutgoingRecord]) {
            // A device may have thousands of pending records in a few zones, so each zone is
            // written once.
            var places: [ZoneID: Int] = [:]
            for change in changes {
                let zone = change.id.zone
                let place = places[zone] ?? zones.count
                if place == zones.count {
                    places[zone] = place
                    zones.append(CodedZone(zone))
                }
                var record = Record(name: change.id.recordName, zone: place)
                if case .delete = change { record.isDeletion = true }
                records.append(record)
            }
        }
    }

    /// Writes the state; equal states have equal content.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encodeIfPresent(user?.userRecordName, forKey: .user)
        try container.encodeIfPresent(databaseToken?.description, forKey: .databaseToken)
        // Sorted, because the order of a dictionary differs from run to run.
        let tokens = zoneTokens.sorted { $0.key < $1.key }
        try container.encode(tokens.map { CodedZone($0.key, token: $0.value) }, forKey: .zoneTokens)
        try container.encode(unfetchedZones.map { CodedZone($0) }, forKey: .unfetchedZones)
        let zones = outgoingZones.changes.map { change in
            switch change {
            case .save(let zone): CodedZone(zone)
            case .delete(let zone): CodedZone(zone, isDeletion: true)
            }
        }
        try container.encode(zones, forKey: .outgoingZones)
        try container.encode(CodedRecords(outgoingRecords.changes), forKey: .outgoingRecords)
        try container.encode(hasUntrackedChanges, forKey: .hasUntrackedChanges)
        let relisted = relistedZones?.sorted().map { CodedZone($0) }
        try container.encodeIfPresent(relisted, forKey: .relistedZones)
        // Programs before 0.2 require it, and subscribe again.
        try container.encode(false, forKey: .isSubscribed)
    }

    /// Reads a state; throws `DecodingError` for another version, or for anything else.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func damage(_ key: CodingKeys, _ problem: String) -> DecodingError {
            .dataCorruptedError(forKey: key, in: container, debugDescription: problem)
        }
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.version else {
            throw damage(
                .version,
                "The sync state has version \(version), but this program reads version "
                    + "\(Self.version). Update the program, or start without a state, which "
                    + "fetches everything again."
            )
        }
        func token(_ text: String, _ key: CodingKeys) throws -> ChangeToken {
            guard let token = ChangeToken(text) else {
                throw damage(key, "\"\(text)\" is not a change token.")
            }
            return token
        }
        user = try container.decodeIfPresent(String.self, forKey: .user).map { UserID($0) }
        databaseToken = try container.decodeIfPresent(String.self, forKey: .databaseToken)
            .map { try token($0, .databaseToken) }
        for zone in try container.decode([CodedZone].self, forKey: .zoneTokens) {
            zoneTokens[zone.zone] = try token(zone.token ?? "", .zoneTokens)
        }
        unfetchedZones = try container.decode([CodedZone].self, forKey: .unfetchedZones)
            .map(\.zone)
        for zone in try container.decode([CodedZone].self, forKey: .outgoingZones) {
            outgoingZones.add(zone.isDeletion == true ? .delete(zone.zone) : .save(zone.zone))
        }
        let coded = try container.decode(CodedRecords.self, forKey: .outgoingRecords)
        let zones = coded.zones.map(\.zone)
        for record in coded.records {
            guard zones.indices.contains(record.zone) else {
                throw damage(.outgoingRecords, "The zone of \"\(record.name)\" is not listed.")
            }
            let id = RecordID(recordName: record.name, zone: zones[record.zone])
            outgoingRecords.add(record.isDeletion == true ? .delete(id) : .save(id))
        }
        hasUntrackedChanges = try container.decode(Bool.self, forKey: .hasUntrackedChanges)
        relistedZones = try container.decodeIfPresent([CodedZone].self, forKey: .relistedZones)
            .map { Set($0.map(\.zone)) }
    }
}

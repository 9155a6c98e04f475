// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The events of the log that make up a case, found record by record along their histories.
struct CaseSlice {
    /// A record to follow, and the database that holds it.
    private struct Wanted: Hashable {
        var record: RecordID
        var database: DatabaseID
    }

    /// The positions of the events.
    private(set) var sequences: Set<SequenceNumber> = []
    /// The records of the database.
    private(set) var recordIDs: Set<RecordID> = []
    /// The records whose history does not reach back to their creation.
    private(set) var pruned: Set<RecordID> = []

    private let database: DatabaseID
    private var types: Set<Name> = []
    private var waiting: [Wanted] = []
    private var known: Set<Wanted> = []
    private var zones: Set<ZoneIdentity> = []

    init(_ database: DatabaseID) {
        self.database = database
    }

    /// Takes in a record that has to be there.
    mutating func add(_ record: RecordID, from store: Store) async throws(SyncError) {
        let wanted = Wanted(
            record: RecordID(
                recordName: record.recordName,
                zone: ZoneID(zoneName: record.zone.zoneName)
            ),
            database: database
        )
        if known.insert(wanted).inserted { try await follow(wanted, in: store) }
    }

    /// Adds the records that the records need, directly or indirectly.
    mutating func addWhatIsNeeded(from store: Store) async throws(SyncError) {
        while let wanted = waiting.popLast() {
            do throws(SyncError) {
                try await follow(wanted, in: store)
            } catch {
                // A reference may point to a missing record, or to one that compaction has dropped,
                // and a type may be in no schema.
                switch error.code {
                case .unknownItem, .zoneNotFound, .invalidArguments: break
                default: throw error
                }
            }
        }
    }

    private mutating func want(_ name: String, in zone: ZoneID, of database: DatabaseID) {
        let wanted = Wanted(record: RecordID(recordName: name, zone: zone), database: database)
        if known.insert(wanted).inserted { waiting.append(wanted) }
    }

    /// Adds all events of a record and of its zone, and the records that its versions name.
    private mutating func follow(_ wanted: Wanted, in store: Store) async throws(SyncError) {
        let history = try await store.history(of: wanted.record, in: wanted.database)
        if wanted.database == database { recordIDs.insert(wanted.record) }
        var iterator = history.makeAsyncIterator()
        while let entry = try await iterator.next(isolation: nil) {
            switch entry {
            case .pruned:
                // Internal records of the store are in a case as they are now, and are not among
                // its records.
                if wanted.database == database { pruned.insert(wanted.record) }
            case .change(let change):
                // Visibility follows from parents and shares; tags belong to one log.
                if change.happening == .enteredShare || change.happening == .leftShare { continue }
                sequences.insert(change.origin.sequence)
                if let record = change.record { note(record, of: wanted) }
            }
        }
        try addZone(of: wanted, from: store)
    }

    /// Takes in the beginnings and ends of a record's zone.
    private mutating func addZone(of wanted: Wanted, from store: Store) throws(SyncError) {
        let identity = ZoneIdentity(database: wanted.database, zoneName: wanted.record.zone.name)
        guard zones.insert(identity).inserted else { return }
        // A share of the whole zone is above all of its records.
        if wanted.database == database {
            want(Share.zoneWideName, in: wanted.record.zone, of: database)
        }
        let picture = try store.pastPicture()
        for epoch in try picture.zones(of: wanted.database) where epoch.identity == identity {
            sequences.insert(epoch.key.creation)
            if let end = epoch.end { sequences.insert(end) }
        }
    }

    /// Adds the records that a version of a record names.
    private mutating func note(_ record: Record, of wanted: Wanted) {
        // Records of the store itself refer to nothing else that a case needs.
        guard wanted.database == database else { return }
        let zone = wanted.record.zone
        if types.insert(Name(record.recordType)).inserted {
            want(record.recordType, in: SystemZone.schema.zone, of: database.ofSystemZones)
        }
        for name in [record.body.parentName, record.body.shareName].compactMap(\.self) {
            want(name, in: zone, of: database)
        }
        for field in record.fields {
            for reference in field.value?.references ?? [] {
                want(reference.recordName, in: zone, of: database)
            }
        }
        guard let share = record.share else { return }
        if let root = share.root { want(root.string, in: zone, of: database) }
        let links = SystemZone.shares.zone
        want(share.token, in: links, of: database.ofSystemZones)
        for participant in share.participants {
            want("\(share.token)/\(participant.id)", in: links, of: database.ofSystemZones)
            if !participant.linkToken.isEmpty {
                want(participant.linkToken, in: links, of: database.ofSystemZones)
            }
        }
    }
}

extension FieldValue {
    /// The references in the value.
    fileprivate var references: [Reference] {
        switch self {
        case .reference(let reference): [reference]
        case .referenceList(let references): references
        default: []
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel
import TidemarkSync

extension CKSyncEngine {
    /// The changes that an engine has to send, and the state of its fetches.
    public final class State: Sendable {
        private let driver: SyncEngineDriver

        init(_ driver: SyncEngineDriver) {
            self.driver = driver
        }

        /// The state that an app keeps for the engine, together with the data it received before.
        ///
        /// Without this state, the engine fetches everything again.
        public struct Serialization: Codable, Sendable {
            let state: SyncState

            init(_ state: SyncState) {
                self.state = state
            }

            /// Reads the state that an engine gave the app to keep.
            public init(from decoder: any Decoder) throws {
                state = try SyncState(from: decoder)
            }

            /// Writes the state.
            public func encode(to encoder: any Encoder) throws {
                try state.encode(to: encoder)
            }
        }

        /// The zones to create and delete, one change for each zone, in the order in which they
        /// were added.
        public var pendingDatabaseChanges: [PendingDatabaseChange] {
            driver.pendingZones
        }

        /// Records to save and remove, one change for each record, in the order in which they were
        /// added.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            driver.look { $0.outgoingRecords }.map { PendingRecordZoneChange($0) }
        }

        /// Adds zones to create and delete, each replacing an earlier change of the zone.
        public func add(pendingDatabaseChanges: [PendingDatabaseChange]) {
            driver.add(pendingDatabaseChanges)
        }

        /// Removes pending changes of zones.
        public func remove(pendingDatabaseChanges: [PendingDatabaseChange]) {
            driver.change { loop, _ in loop.remove(zones: pendingDatabaseChanges.map(\.model)) }
        }

        /// Adds records to save and delete, each replacing an earlier change of the record.
        public func add(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            driver.change { $0.add(records: pendingRecordZoneChanges.map(\.model), at: $1) }
        }

        /// Removes pending changes of records.
        public func remove(pendingRecordZoneChanges: [PendingRecordZoneChange]) {
            driver.change { loop, _ in loop.remove(records: pendingRecordZoneChanges.map(\.model)) }
        }

        /// True if the app has changes to send that are not in the lists.
        public var hasPendingUntrackedChanges: Bool {
            get { driver.look { $0.hasUntrackedChanges } }
            set { driver.change { $0.setUntrackedChanges(newValue, at: $1) } }
        }

        /// Zones in which something changed that was not fetched yet.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] {
            driver.look { $0.unfetchedZones }.map { CKRecordZone.ID($0) }
        }
    }

    /// A zone to make or remove.
    public enum PendingDatabaseChange: Hashable, Sendable {
        /// The zone is created unless it exists.
        case saveZone(CKRecordZone)
        /// The zone is deleted.
        case deleteZone(CKRecordZone.ID)

        /// Returns true if both are the same change to zones of the same name.
        public static func == (lhs: Self, rhs: Self) -> Bool { lhs.model == rhs.model }

        /// Hashes the kind of change and the zone's name.
        public func hash(into hasher: inout Hasher) { hasher.combine(model) }

        /// Creates a change with the zone that the app added, if it is known.
        init(_ model: OutgoingZone, _ zones: [ZoneID: CKRecordZone]) {
            self =
                switch model {
                case .save(let zone):
                    .saveZone(zones[zone] ?? CKRecordZone(zoneID: CKRecordZone.ID(zone)))
                case .delete(let zone): .deleteZone(CKRecordZone.ID(zone))
                }
        }

        var model: OutgoingZone {
            switch self {
            case .saveZone(let zone): .save(zone.zoneID.model)
            case .deleteZone(let id): .delete(id.model)
            }
        }
    }

    /// A record to save or remove.
    public enum PendingRecordZoneChange: Hashable, Sendable {
        /// The record is saved.
        case saveRecord(CKRecord.ID)
        /// The record is deleted.
        case deleteRecord(CKRecord.ID)

        init(_ model: OutgoingRecord) {
            self =
                switch model {
                case .save(let record): .saveRecord(CKRecord.ID(record))
                case .delete(let record): .deleteRecord(CKRecord.ID(record))
                }
        }

        var model: OutgoingRecord {
            switch self {
            case .saveRecord(let id): .save(id.model)
            case .deleteRecord(let id): .delete(id.model)
            }
        }
    }

    /// Records that are saved and removed by one request.
    public struct RecordZoneChangeBatch: Sendable {
        /// The records to save, unless another client has saved them since they were fetched.
        public var recordsToSave: [CKRecord]
        /// Records to remove.
        public var recordIDsToDelete: [CKRecord.ID]
        /// True if the changes of a zone are made all or none.
        public var atomicByZone: Bool

        /// The maximum number of changes in a batch of pending ones.
        ///
        /// Apple documents no number; 250 were observed.
        static let maximumCount = 250

        /// Collects changes.
        public init(
            recordsToSave: [CKRecord] = [],
            recordIDsToDelete: [CKRecord.ID] = [],
            atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        /// Collects pending changes, in order, up to the limit of one request.
        ///
        /// Skips records that the app no longer has. `nil` if nothing is left.
        public init?(
            pendingChanges: [PendingRecordZoneChange],
            recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            self.init()
            for change in pendingChanges {
                // A change that is left out, here or without a record, stays pending: the loop
                // removes only the changes of the batch.
                if recordsToSave.count + recordIDsToDelete.count == Self.maximumCount { break }
                switch change {
                case .saveRecord(let id):
                    // A record with another name would stay pending under this one, and be sent again
                    // and again.
                    if let record = await recordProvider(id), record.isNamed(id) {
                        recordsToSave.append(record)
                    }
                case .deleteRecord(let id):
                    recordIDsToDelete.append(id)
                }
            }
            if recordsToSave.isEmpty, recordIDsToDelete.isEmpty { return nil }
        }

        var model: [OutgoingRecord] {
            recordsToSave.map { .save($0.recordID.model) }
                + recordIDsToDelete.map { .delete($0.model) }
        }
    }
}

extension CKRecord {
    /// Returns true if the record has these names; the owner of a zone has two spellings.
    fileprivate func isNamed(_ id: CKRecord.ID) -> Bool {
        recordID.recordName == id.recordName && recordID.zoneID.zoneName == id.zoneID.zoneName
    }
}

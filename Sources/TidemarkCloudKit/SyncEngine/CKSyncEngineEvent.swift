// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension CKSyncEngine {
    /// An event that a sync engine reports to its delegate.
    public enum Event: Sendable {
        /// The state is another one.
        case stateUpdate(StateUpdate)
        /// Another user has signed in, or the user has signed out.
        case accountChange(AccountChange)
        /// Zones changed on the server.
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        /// Records changed on the server.
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        /// Zones were created and deleted, or that failed.
        case sentDatabaseChanges(SentDatabaseChanges)
        /// Records were saved and removed, or not.
        case sentRecordZoneChanges(SentRecordZoneChanges)
        /// A fetch begins.
        case willFetchChanges(WillFetchChanges)
        /// The changes of a zone are being fetched.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// The changes of a zone were fetched, or not.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// A fetch is over.
        case didFetchChanges(DidFetchChanges)
        /// A sending begins.
        case willSendChanges(WillSendChanges)
        /// A sending is over.
        case didSendChanges(DidSendChanges)
    }
}

extension CKSyncEngine.Event {
    /// The state is another one: to be kept at once, after the data that came before it.
    public struct StateUpdate: Sendable {
        /// The state for the app to keep.
        public let stateSerialization: CKSyncEngine.State.Serialization
    }

    /// A change of the signed-in user.
    public struct AccountChange: Sendable {
        /// The previous and the current user.
        public enum ChangeType: Equatable, Sendable {
            /// A user has signed in; the engine knew no user before.
            case signIn(currentUser: CKRecord.ID)
            /// The user has signed out.
            case signOut(previousUser: CKRecord.ID)
            /// Another user has signed in.
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        /// The previous and the current user.
        public let changeType: ChangeType
    }

    /// Zones changed on the server.
    public struct FetchedDatabaseChanges: Sendable {
        /// Zones that are new or in which something changed.
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// Zones that are gone.
        public let deletions: [CKDatabase.DatabaseChange.Deletion]
    }

    /// Records changed on the server.
    public struct FetchedRecordZoneChanges: Sendable {
        /// Records that are new or changed.
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        /// Records that are gone.
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]
    }

    /// The results of creating and deleting zones.
    public struct SentDatabaseChanges: Sendable {
        /// A zone that could not be made.
        public struct FailedZoneSave: Sendable {
            /// The zone.
            public let zone: CKRecordZone
            /// The error of the failure.
            public let error: CKError
        }

        /// The zones that were created.
        public let savedZones: [CKRecordZone]
        /// The zones that could not be created.
        public let failedZoneSaves: [FailedZoneSave]
        /// Zones that were removed.
        public let deletedZoneIDs: [CKRecordZone.ID]
        /// Zones that could not be removed.
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]
    }

    /// Records were saved and removed, or not.
    public struct SentRecordZoneChanges: Sendable {
        /// A record that could not be saved.
        public struct FailedRecordSave: Sendable {
            /// The record, as the app gave it.
            public let record: CKRecord
            /// The error of the failure.
            public let error: CKError
        }

        /// Records that were saved, as the server has them.
        public let savedRecords: [CKRecord]
        /// Records that could not be saved.
        public let failedRecordSaves: [FailedRecordSave]
        /// Records that were removed.
        public let deletedRecordIDs: [CKRecord.ID]
        /// Records that could not be removed.
        public let failedRecordDeletes: [CKRecord.ID: CKError]
    }

    /// A fetch begins.
    public struct WillFetchChanges: Sendable {
        /// The reason and the scope of the fetch.
        public let context: CKSyncEngine.FetchChangesContext
    }

    /// The changes of a zone are being fetched.
    public struct WillFetchRecordZoneChanges: Sendable {
        /// The zone.
        public let zoneID: CKRecordZone.ID
    }

    /// The changes of a zone were fetched, or not.
    public struct DidFetchRecordZoneChanges: Sendable {
        /// The zone.
        public let zoneID: CKRecordZone.ID
        /// The error if not all changes of the zone were fetched; `nil` if all were.
        public let error: CKError?
    }

    /// A fetch is over.
    public struct DidFetchChanges: Sendable {
        /// The reason and the scope of the fetch.
        public let context: CKSyncEngine.FetchChangesContext
    }

    /// A sending begins.
    public struct WillSendChanges: Sendable {
        /// The reason and the scope of the send operation.
        public let context: CKSyncEngine.SendChangesContext
    }

    /// A sending is over.
    public struct DidSendChanges: Sendable {
        /// The reason and the scope of the send operation.
        public let context: CKSyncEngine.SendChangesContext
    }
}

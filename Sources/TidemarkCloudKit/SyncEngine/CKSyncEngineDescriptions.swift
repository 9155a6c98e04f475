// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

// Short descriptions of a sync engine's configuration, events and options, for an app's log.

extension CKSyncEngine.Configuration: CustomStringConvertible {
    /// The database, and whether the engine fetches and sends by itself.
    public var description: String {
        "configuration(\(database), \(automaticallySync ? "automatic" : "manual"))"
    }
}

extension CKSyncEngine.Event: CustomStringConvertible {
    /// The event.
    public var description: String {
        switch self {
        case .stateUpdate(let event): event.description
        case .accountChange(let event): event.description
        case .fetchedDatabaseChanges(let event): event.description
        case .fetchedRecordZoneChanges(let event): event.description
        case .sentDatabaseChanges(let event): event.description
        case .sentRecordZoneChanges(let event): event.description
        case .willFetchChanges(let event): event.description
        case .willFetchRecordZoneChanges(let event): event.description
        case .didFetchRecordZoneChanges(let event): event.description
        case .didFetchChanges(let event): event.description
        case .willSendChanges(let event): event.description
        case .didSendChanges(let event): event.description
        }
    }
}

extension CKSyncEngine.Event.StateUpdate: CustomStringConvertible {
    /// The event's name.
    public var description: String { "stateUpdate" }
}

extension CKSyncEngine.Event.AccountChange: CustomStringConvertible {
    /// The previous and the current user.
    public var description: String { "accountChange(\(changeType))" }
}

extension CKSyncEngine.Event.FetchedDatabaseChanges: CustomStringConvertible {
    /// The number of zones that changed, and of those that are gone.
    public var description: String {
        "fetchedDatabaseChanges(\(modifications.count) changed, \(deletions.count) deleted)"
    }
}

extension CKSyncEngine.Event.FetchedRecordZoneChanges: CustomStringConvertible {
    /// The number of records that changed, and of those that are gone.
    public var description: String {
        "fetchedRecordZoneChanges(\(modifications.count) changed, \(deletions.count) deleted)"
    }
}

extension CKSyncEngine.Event.SentDatabaseChanges: CustomStringConvertible {
    /// The number of zones that were sent, and of those that failed.
    public var description: String {
        "sentDatabaseChanges(\(savedZones.count + deletedZoneIDs.count) sent, "
            + "\(failedZoneSaves.count + failedZoneDeletes.count) failed)"
    }
}

extension CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave: CustomStringConvertible {
    /// The zone and its error.
    public var description: String { "\(zone.zoneID): \(error.localizedDescription)" }
}

extension CKSyncEngine.Event.SentRecordZoneChanges: CustomStringConvertible {
    /// The number of records that were sent, and of those that failed.
    public var description: String {
        "sentRecordZoneChanges(\(savedRecords.count + deletedRecordIDs.count) sent, "
            + "\(failedRecordSaves.count + failedRecordDeletes.count) failed)"
    }
}

extension CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave: CustomStringConvertible {
    /// The record and its error.
    public var description: String { "\(record.recordID): \(error.localizedDescription)" }
}

extension CKSyncEngine.Event.WillFetchChanges: CustomStringConvertible {
    /// The reason and the scope of the fetch.
    public var description: String { "willFetchChanges(\(context))" }
}

extension CKSyncEngine.Event.WillFetchRecordZoneChanges: CustomStringConvertible {
    /// Of which zone.
    public var description: String { "willFetchRecordZoneChanges(\(zoneID))" }
}

extension CKSyncEngine.Event.DidFetchRecordZoneChanges: CustomStringConvertible {
    /// Of which zone, and why not all.
    public var description: String {
        let reason = error.map { ", \($0.localizedDescription)" } ?? ""
        return "didFetchRecordZoneChanges(\(zoneID)\(reason))"
    }
}

extension CKSyncEngine.Event.DidFetchChanges: CustomStringConvertible {
    /// The reason and the scope of the fetch.
    public var description: String { "didFetchChanges(\(context))" }
}

extension CKSyncEngine.Event.WillSendChanges: CustomStringConvertible {
    /// The reason and the scope of the send operation.
    public var description: String { "willSendChanges(\(context))" }
}

extension CKSyncEngine.Event.DidSendChanges: CustomStringConvertible {
    /// The reason and the scope of the send operation.
    public var description: String { "didSendChanges(\(context))" }
}

extension CKSyncEngine.SyncReason: CustomStringConvertible {
    /// The case's name.
    public var description: String {
        switch self {
        case .scheduled: "scheduled"
        case .manual: "manual"
        }
    }
}

extension CKSyncEngine.FetchChangesOptions.Scope: CustomStringConvertible {
    /// The zones.
    public var description: String {
        switch self {
        case .all: "all zones"
        case .allExcluding(let zones): "all zones but \(zones)"
        case .zoneIDs(let zones): "zones \(zones)"
        }
    }
}

extension CKSyncEngine.FetchChangesOptions: CustomStringConvertible {
    /// The zones and the operation group.
    public var description: String { "\(scope)\(operationGroup.suffix)" }
}

extension CKSyncEngine.FetchChangesContext: CustomStringConvertible {
    /// The reason and the options.
    public var description: String { "\(reason): \(options)" }
}

extension CKSyncEngine.SendChangesOptions.Scope: CustomStringConvertible {
    /// The changes.
    public var description: String {
        switch self {
        case .all: "all changes"
        case .allExcluding(let zones): "all changes but in zones \(zones)"
        case .zoneIDs(let zones): "changes in zones \(zones)"
        case .recordIDs(let records): "changes of records \(records)"
        }
    }
}

extension CKSyncEngine.SendChangesOptions: CustomStringConvertible {
    /// The changes and the operation group.
    public var description: String { "\(scope)\(operationGroup.suffix)" }
}

extension CKSyncEngine.SendChangesContext: CustomStringConvertible {
    /// The reason and the options.
    public var description: String { "\(reason): \(options)" }
}

extension CKSyncEngine.PendingDatabaseChange: CustomStringConvertible {
    /// The change and its zone.
    public var description: String {
        switch self {
        case .saveZone(let zone): "saveZone(\(zone.zoneID))"
        case .deleteZone(let id): "deleteZone(\(id))"
        }
    }
}

extension CKSyncEngine.PendingRecordZoneChange: CustomStringConvertible {
    /// The change and its record.
    public var description: String {
        switch self {
        case .saveRecord(let id): "saveRecord(\(id))"
        case .deleteRecord(let id): "deleteRecord(\(id))"
        }
    }
}

extension CKSyncEngine.RecordZoneChangeBatch: CustomStringConvertible {
    /// The number of records to save and to delete.
    public var description: String {
        "\(recordsToSave.count) to save, \(recordIDsToDelete.count) to delete"
            + (atomicByZone ? ", all or none by zone" : "")
    }
}

extension CKOperationGroup {
    /// The group's name after a comma; empty if the group has no name.
    fileprivate var suffix: String { name.map { ", \($0)" } ?? "" }
}

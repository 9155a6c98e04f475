// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

// The stored state of each kind of operation.

extension CKModifyRecordsOperation {
    func keepOwn(in request: inout KeptRequest) {
        request.records = (recordsToSave ?? []).compactMap(\.archivedData)
        request.recordIDs = (recordIDsToDelete ?? []).map(\.archived)
        request.numbers = ["policy": savePolicy.rawValue, "isAtomic": isAtomic ? 1 : 0]
        request.objects["mark"] = clientChangeTokenData
    }

    func restoreOwn(from request: KeptRequest) {
        recordsToSave = request.records.compactMap { CKRecord.unarchived($0) }
        recordIDsToDelete = request.recordIDs.map { CKRecord.ID($0) }
        savePolicy =
            request.numbers["policy"].flatMap { RecordSavePolicy(rawValue: $0) }
            ?? .ifServerRecordUnchanged
        isAtomic = request.numbers["isAtomic"] != 0
        clientChangeTokenData = request.objects["mark"]
    }
}

extension CKFetchRecordsOperation {
    func keepOwn(in request: inout KeptRequest) {
        request.recordIDs = (recordIDs ?? []).map(\.archived)
        request.desiredKeys = desiredKeys
        request.numbers = ["currentUser": fetchesCurrentUser ? 1 : 0]
    }

    func restoreOwn(from request: KeptRequest) {
        recordIDs = request.recordIDs.map { CKRecord.ID($0) }
        desiredKeys = request.desiredKeys
        fetchesCurrentUser = request.numbers["currentUser"] == 1
    }
}

extension CKQueryOperation {
    func keepOwn(in request: inout KeptRequest) {
        request.keep(query, as: "query")
        request.keep(cursor, as: "cursor")
        request.zoneIDs = zoneID.map { [$0.archived] } ?? []
        request.desiredKeys = desiredKeys
        request.numbers = ["limit": resultsLimit]
    }

    func restoreOwn(from request: KeptRequest) {
        query = request.object("query", of: CKQuery.self)
        cursor = request.object("cursor", of: CKQueryCursor.self)
        zoneID = request.zoneIDs.first.map { CKRecordZone.ID($0) }
        desiredKeys = request.desiredKeys
        resultsLimit = request.numbers["limit"] ?? CKQueryOperation.maximumResults
    }
}

extension CKModifyRecordZonesOperation {
    func keepOwn(in request: inout KeptRequest) {
        request.zoneIDs = (recordZonesToSave ?? []).map(\.zoneID.archived)
        // The saves come first in one list, and their number separates them from the deletions
        // (Docs/formats/devices.md, "A long-lived operation").
        request.numbers = ["saves": request.zoneIDs.count]
        request.zoneIDs += (recordZoneIDsToDelete ?? []).map(\.archived)
    }

    func restoreOwn(from request: KeptRequest) {
        let ids = request.zoneIDs.map { CKRecordZone.ID($0) }
        // A damaged file can have any number.
        let count = min(max(request.numbers["saves"] ?? 0, 0), ids.count)
        recordZonesToSave = ids[..<count].map { CKRecordZone(zoneID: $0) }
        recordZoneIDsToDelete = Array(ids[count...])
    }
}

extension CKFetchRecordZonesOperation {
    func keepOwn(in request: inout KeptRequest) {
        request.zoneIDs = (recordZoneIDs ?? []).map(\.archived)
        request.numbers = ["all": fetchesAll ? 1 : 0]
    }

    func restoreOwn(from request: KeptRequest) {
        recordZoneIDs = request.zoneIDs.map { CKRecordZone.ID($0) }
        fetchesAll = request.numbers["all"] == 1
    }
}

extension CKFetchRecordZoneChangesOperation {
    func keepOwn(in request: inout KeptRequest) {
        request.zoneIDs = (recordZoneIDs ?? []).map(\.archived)
        request.numbers = ["all": fetchAllChanges ? 1 : 0]
        // The members of a zone's configuration are named by the zone's place in `zoneIDs`.
        for (index, id) in (recordZoneIDs ?? []).enumerated() {
            guard let configuration = configurationsByRecordZoneID?[id] else { continue }
            request.keep(configuration.previousServerChangeToken, as: "token\(index)")
            request.numbers["limit\(index)"] = configuration.resultsLimit
            request.objects["keys\(index)"] = configuration.desiredKeys.flatMap {
                try? PropertyListEncoder().encode($0)
            }
        }
    }

    func restoreOwn(from request: KeptRequest) {
        let ids = request.zoneIDs.map { CKRecordZone.ID($0) }
        recordZoneIDs = ids
        fetchAllChanges = request.numbers["all"] == 1
        configurationsByRecordZoneID = [:]
        for (index, id) in ids.enumerated() {
            configurationsByRecordZoneID?[id] = ZoneConfiguration(
                previousServerChangeToken: request.object(
                    "token\(index)",
                    of: CKServerChangeToken.self
                ),
                resultsLimit: request.numbers["limit\(index)"],
                desiredKeys: request.objects["keys\(index)"].flatMap {
                    try? PropertyListDecoder().decode([String].self, from: $0)
                }
            )
        }
    }
}

extension CKFetchDatabaseChangesOperation {
    func keepOwn(in request: inout KeptRequest) {
        request.keep(previousServerChangeToken, as: "token")
        request.numbers = ["limit": resultsLimit, "all": fetchAllChanges ? 1 : 0]
    }

    func restoreOwn(from request: KeptRequest) {
        previousServerChangeToken = request.object("token", of: CKServerChangeToken.self)
        resultsLimit = request.numbers["limit"] ?? 0
        fetchAllChanges = request.numbers["all"] == 1
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

extension RecordsForm where Request == FetchRecordsRequest, Answer == [CodedOutcome<Record>] {
    /// Records by identity.
    static var fetch: RecordsForm {
        RecordsForm(
            writeRequest: { FetchForm.message(for: $0) },
            readRequest: { (bytes) throws(WireFormError) in try FetchForm.request(from: bytes) },
            writeAnswer: { (answer) throws(SyncError) in
                let outcomes = try WireOutcome.all(answer.map(\.result))
                return WireMessage(.records) { writer in
                    writer.begin(.fetchAnswer)
                    writer.append(outcomes)
                }
            },
            readAnswer: { (bytes) throws(WireFormError) in
                var reader = try WireReader(bytes, .fetchAnswer)
                let results = try reader.recordOutcomes()
                try reader.finish()
                return results.map { CodedOutcome($0) }
            }
        )
    }
}

private enum FetchForm {
    private static let hasKeys: UInt8 = 1

    static func message(for request: FetchRecordsRequest) -> WireMessage {
        WireMessage(.records) { writer in
            writer.begin(.fetchRequest)
            writer.append(request.desiredKeys == nil ? 0 : hasKeys)
            if let keys = request.desiredKeys { writer.append(keys) }
            writer.append(UInt32(truncatingIfNeeded: request.recordIDs.count))
            // Inside of the closure, which runs twice: each pass must begin without a zone.
            var zones = ZoneMemory()
            for id in request.recordIDs {
                let hasZone = zones.changes(to: id.zone)
                writer.append(hasZone ? ItemFlags.hasZone : 0)
                if hasZone { writer.append(id.zone) }
                writer.append(id.name)
            }
        }
    }

    static func request(from bytes: [UInt8]) throws(WireFormError) -> FetchRecordsRequest {
        var reader = try WireReader(bytes, .fetchRequest)
        let keys = try reader.flags(hasKeys) == hasKeys ? try reader.keys() : nil
        // The smallest item has flags (1 byte) and the length of a name (4 bytes).
        let count = try reader.count(ofItems: 5)
        var zones = ZoneMemory()
        var ids: [RecordID] = []
        ids.reserveCapacity(count)
        for _ in 0..<count {
            let flags = try reader.flags(ItemFlags.hasZone)
            let zone = try zones.zone(follows: flags != 0, from: &reader)
            ids.append(RecordID(recordName: try reader.string(), zone: zone))
        }
        try reader.finish()
        return FetchRecordsRequest(ids, desiredKeys: keys)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import Workload

/// The change tags that a device holds of the records of some zones.
package struct HeldTags: Sendable {
    private var zones: [[String: RecordChangeTag]]
    private var tokens: [ChangeToken?]

    /// Holds none yet.
    package init(zoneCount: Int) {
        zones = Array(repeating: [:], count: zoneCount)
        tokens = Array(repeating: nil, count: zoneCount)
    }

    /// Fetches what changed since the last time.
    package mutating func fetch(from contender: TidemarkContender) async throws {
        for zone in zones.indices {
            tokens[zone] = try await contender.pages(of: zone, since: tokens[zone]) { page in
                for case .changed(let record) in page.changes {
                    zones[zone][record.recordID.recordName] = record.changeTag
                }
            }
        }
    }

    /// Updates of records that are done only where each still is the version that is held.
    package func prepare(
        _ changes: [Change],
        for contender: TidemarkContender,
        _ pages: PageSource
    ) throws -> ModifyRecordsRequest {
        var request = try contender.prepare(Batch(changes, isInsert: true), pages)
        for (index, change) in changes.enumerated() {
            request.saves[index].changeTag = zones[Int(change.zone)][change.name]
        }
        return request
    }
}

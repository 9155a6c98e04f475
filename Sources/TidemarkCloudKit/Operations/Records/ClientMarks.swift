// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// What a device said last with changes of a zone (`clientChangeTokenData`), and hears again when it has
/// fetched them.
///
/// It lies in the device's folder: nobody else is told. Without it a device takes its own changes for those
/// of another, and fetches them.
struct ClientMarks: Sendable {
    private let marks: KeptValues

    init(_ folder: DeviceFolder) {
        marks = KeptValues("marks", in: folder)
    }

    /// Takes note of what was said with changes, for the zones in which they were done.
    func add(
        _ mark: Data,
        of request: ModifyRecordsRequest,
        _ result: ModifyRecordsResult,
        _ caller: Caller
    ) {
        var zones: Set<ZoneID> = []
        for (save, result) in zip(request.saves, result.saves) where result.error == nil {
            zones.insert(save.recordID.zone)
        }
        for (deletion, result) in zip(request.deletions, result.deletions)
        where result.error == nil {
            zones.insert(deletion.recordID.zone)
        }
        guard !zones.isEmpty else { return }
        marks.change { marks in
            for zone in zones { marks[Self.key(of: zone, caller)] = mark }
        }
    }

    /// What was said last with changes of a zone.
    func mark(of zone: ZoneID, _ caller: Caller) -> Data? {
        marks[Self.key(of: zone, caller)]
    }

    private static func key(of zone: ZoneID, _ caller: Caller) -> String {
        "\(caller.database)/\(zone.ownerName)/\(zone.zoneName)"
    }
}

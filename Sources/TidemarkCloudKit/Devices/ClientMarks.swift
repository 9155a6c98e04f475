// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The last `clientChangeTokenData` that a device sent with changes of a zone.
///
/// The device receives this data again when it has fetched the changes.
///
/// The marks are in the device's folder and are not sent to others. Without them, a device mistakes
/// its own changes for those of another, and fetches them.
struct ClientMarks: Sendable {
    private let marks: KeptValues

    init(_ folder: DeviceFolder) {
        marks = KeptValues("marks", in: folder)
    }

    /// Stores the data that was sent with changes, for the zones in which they were made.
    func add(
        _ mark: Data,
        of request: ModifyRecordsRequest,
        _ result: ModifyRecordsResult,
        _ caller: Caller
    ) {
        var zones: Set<ZoneID> = []
        // Only zones in which something was done: a mark tells the program that a fetch contains
        // its changes.
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

    /// Returns the data that was last sent with changes of a zone.
    func mark(of zone: ZoneID, _ caller: Caller) -> Data? {
        marks[Self.key(of: zone, caller)]
    }

    private static func key(of zone: ZoneID, _ caller: Caller) -> String {
        "\(caller.database)/\(zone.ownerName)/\(zone.zoneName)"
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark

/// What a device said last with changes of a zone (`clientChangeTokenData`), and hears again when it has
/// fetched them.
///
/// It lies in the device's folder: nobody else is told.
final class ClientMarks: Sendable {
    private let file: URL
    private let marks: Lock<[String: Data]?>

    init(_ folder: DeviceFolder) {
        file = folder.url.appendingPathComponent("marks.plist")
        marks = Lock(nil)
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
        let keys = zones.map { Self.key(of: $0, caller) }
        marks.withLock { marks in
            var all = marks ?? Self.read(file)
            for key in keys { all[key] = mark }
            marks = all
            Self.write(all, to: file)
        }
    }

    /// What was said last with changes of a zone.
    func mark(of zone: ZoneID, _ caller: Caller) -> Data? {
        let key = Self.key(of: zone, caller)
        return marks.withLock { marks in
            let all = marks ?? Self.read(file)
            marks = all
            return all[key]
        }
    }

    private static func key(of zone: ZoneID, _ caller: Caller) -> String {
        "\(caller.database)/\(zone.ownerName)/\(zone.zoneName)"
    }

    private static func read(_ file: URL) -> [String: Data] {
        guard let data = try? Data(contentsOf: file) else { return [:] }
        return (try? PropertyListDecoder().decode([String: Data].self, from: data)) ?? [:]
    }

    private static func write(_ marks: [String: Data], to file: URL) {
        try? FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        // Without the file a device takes its own changes for those of another, and fetches them.
        try? PropertyListEncoder().encode(marks).write(to: file, options: .atomic)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkLog
import TidemarkModel
import Workload

extension HotPath {
    /// The log alone, on the thread that calls; nothing is synced.
    static let log = [appendOne, appendBatch, scan, pick]

    /// Appends a commit of one event and writes it as a frame of its own.
    private static let appendOne = HotPath(name: "log.append") { count in
        let payloads = try Pages.bodies(count).map { Array($0.bytes) }
        let log = try ScratchLog()
        return Prepared { count in
            for index in 0..<count { try log.append(payloads[index...index]) }
        }
    }

    /// Appends events in commits of 400; one operation is one event.
    private static let appendBatch = HotPath(name: "log.append400") { count in
        let payloads = try Pages.bodies(count).map { Array($0.bytes) }
        let log = try ScratchLog()
        return Prepared { count in
            for start in stride(from: 0, to: count, by: 400) {
                try log.append(payloads[start..<min(start + 400, count)])
            }
        }
    }

    /// Reads events one after another: what replay costs before anything is made of them.
    private static let scan = HotPath(name: "log.scan") { count in
        let log = try ScratchLog(events: count)
        return Prepared { count in
            var seen = 0
            try log.log.scan(from: SequenceNumber(rawValue: 1), through: log.log.lastSequence) {
                seen += $0.payload.isEmpty ? 0 : 1
                return seen < count
            }
            try demand(seen == count || count == 0)
        }
    }

    /// Reads every 40th event: a zone's delta in a log that 40 zones share.
    private static let pick = HotPath(name: "log.read40th") { count in
        let log = try ScratchLog(events: count * 40)
        return Prepared { count in
            var seen = 0
            let wanted = (0..<count).map { SequenceNumber(rawValue: UInt64($0 * 40 + 1)) }
            try log.log.read(wanted) {
                seen += $0.payload.isEmpty ? 0 : 1
                return true
            }
            try demand(seen == count)
        }
    }
}

/// A log in a folder of its own that goes when it goes.
private final class ScratchLog {
    let log: SegmentLog
    private let folder: String
    private let envelope = [UInt8](repeating: 7, count: 48)

    init() throws {
        folder = try ScratchFolder.make()
        var configuration = LogConfiguration()
        configuration.durability = .none
        var environment = LogEnvironment(
            fileSystem: PosixFileSystem(),
            now: { 1_700_000_000_000 },
            random: { 0x5DEE_CE66_D0CE_55AA }
        )
        environment.writesInline = true
        log = try SegmentLog.open(
            folder,
            creating: true,
            configuration: configuration,
            environment: environment,
            onDurable: { _ in }
        ).log
    }

    convenience init(events count: Int) throws {
        try self.init()
        let pages = PageSource()
        for start in stride(from: 0, to: count, by: 400) {
            let changes = (start..<min(start + 400, count)).map { Change(zone: 0, number: $0) }
            let batch = FlatBatch(Batch(changes, isInsert: true), pages)
            try append(batch.entries.map { Array(batch.bytes[$0.value]) }[...])
        }
    }

    deinit {
        try? log.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func append(_ payloads: ArraySlice<[UInt8]>) throws {
        guard !payloads.isEmpty else { return }
        var draft = CommitDraft(
            time: 1_700_000_000_000,
            received: 1_700_000_000_000,
            envelope: envelope
        )
        for payload in payloads {
            draft.append(zone: 1) { $0.append(contentsOf: payload) }
        }
        let first = try log.append(draft)
        try log.blockUntilDurable(
            SequenceNumber(rawValue: first.rawValue + UInt64(payloads.count) - 1)
        )
    }
}

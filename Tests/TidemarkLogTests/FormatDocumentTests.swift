// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing

@testable import TidemarkLog

/// The worked examples in the format document are what the writer writes.
@Suite struct FormatDocumentTests {
    /// A new store with one commit of two events, the first of which creates zone 1.
    private func exampleFrame() throws -> (offset: Int, bytes: [UInt8]) {
        let fileSystem = SimulatedFileSystem()
        var environment = LogEnvironment.fixed(fileSystem, seed: 0)
        environment.writesInline = true
        let (log, _) = try SegmentLog.open(
            "/notes.tide",
            creating: true,
            configuration: LogConfiguration(),
            environment: environment,
            onDurable: { _ in }
        )
        var draft = CommitDraft(
            time: 1_700_000_000_000,
            received: 1_700_000_000_003,
            envelope: Array("anna".utf8)
        )
        draft.append(zone: CommitDraft.ownSequence) { $0 += Array("zone".utf8) }
        draft.append(zone: 1) { $0 += Array("hello, tide".utf8) }
        let last = try log.append(draft).next
        try log.blockUntilDurable(last)
        let file = try fileSystem.open(
            "/notes.tide/segments/00000000000000000001-0.seg",
            .read
        )
        let header = try FileHeader.read(from: file, kind: .segment)
        var scan = try FrameScan(file, header: header)
        guard case .frame(let frame) = try scan.step() else {
            Issue.record("no frame was written")
            return (0, [])
        }
        let bytes = try file.bytes(
            at: frame.offset,
            byteCount: Int(frame.header.byteCount)
        )
        return (Int(frame.offset), bytes)
    }

    private func dump(_ bytes: [UInt8], from offset: Int) -> [String] {
        stride(from: 0, to: bytes.count, by: 16).map { start in
            let row = bytes[start..<min(start + 16, bytes.count)]
            let place = String(offset + start, radix: 16)
            let hex = row.map { String(format: "%02x", $0) }.joined(separator: " ")
            return String(repeating: "0", count: 4 - place.count) + place + "  " + hex
        }
    }

    /// A stripe of two zones that take turns, with a position that was dropped.
    private func exampleStripe() -> (offset: Int, bytes: [UInt8]) {
        var stripe = StripeBuilder(first: SequenceNumber(rawValue: 3))
        for (position, zone, text) in [(3, 1, "hello, tide"), (4, 2, "ebb"), (6, 1, "bye")]
            as [(UInt64, ZoneKey, String)]
        {
            let sequence = SequenceNumber(rawValue: position)
            let commit = LogCommit(
                first: sequence,
                eventCount: 1,
                time: 1_700_000_000_000 + Int64(position),
                received: 1_700_000_000_003 + Int64(position)
            )
            stripe.append(
                LogEvent(
                    sequence: sequence,
                    zone: zone,
                    commit: commit,
                    block: Array("anna\(text)".utf8),
                    payload: 4..<4 + text.utf8.count,
                    envelope: 0..<4
                )
            )
        }
        let place = FramePlace(salt: 1, offset: 256, syncedOffset: 0, chain: 0)
        let compressor = FrameCompressor(dictionary: [], level: .high)
        let frame = stripe.frame(ownBlockByteCount: 0)
        return (256, frame.encoded(at: place, compressor: compressor).bytes)
    }

    @Test func `The bytes in the examples equal those of the writer`() throws {
        let document = try String(
            contentsOf: URL(fileURLWithPath: #filePath)
                .deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
                .appendingPathComponent("Docs/formats/segment.md"),
            encoding: .utf8
        )
        let examples = [try exampleFrame(), exampleStripe()]
        let expected = examples.flatMap { dump($0.bytes, from: $0.offset) }
        #expect(expected.count > 20)
        let lines = document.split(separator: "\n").map {
            $0.prefix { $0 != "|" }.trimmingCharacters(in: .whitespaces)
        }
        for line in expected {
            let isThere = lines.contains(line)
            #expect(isThere, "not in the document: \(line)")
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TidemarkLog

/// The worked example in the format document is what the writer writes.
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

    @Test func `the example's bytes are the writer's`() throws {
        let (offset, bytes) = try exampleFrame()
        let document = try String(
            contentsOf: URL(fileURLWithPath: #filePath)
                .deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
                .appendingPathComponent("Docs/formats/segment.md"),
            encoding: .utf8
        )
        let expected = dump(bytes, from: offset)
        #expect(expected.count > 8)
        let lines = document.split(separator: "\n").map {
            $0.prefix { $0 != "|" }.trimmingCharacters(in: .whitespaces)
        }
        for line in expected {
            let isThere = lines.contains(line)
            #expect(isThere, "not in the document: \(line)")
        }
    }
}

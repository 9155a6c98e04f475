// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkLog

/// A frame never takes more room than was kept for its commits.
@Suite struct FrameBoundTests {
    @Test(arguments: [0...0, 0...60, 3000...4200, 8000...20_000] as [ClosedRange<Int>])
    func `Commits do not exceed their estimated size`(_ envelope: ClosedRange<Int>) throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            var drafts = DraftSource(seed: seed, isAllNoise: true)
            let payloads = [0...40, 4000...4400, 5900...6300, 7800...8300, 16_000...17_000]
            let payload = payloads[Int(seed) % payloads.count]
            var builder = FrameBuilder(first: SequenceNumber(rawValue: 1 << 60))
            var bound = 0
            for _ in 0..<drafts.number(in: 1...5) {
                let draft = drafts.draft(events: 1...40, payload: payload, envelope: envelope)
                bound += FrameBuilder.byteCountBound(of: draft)
                builder.append(draft)
            }
            let place = FramePlace(salt: 1, offset: 256, syncedOffset: 256, chain: 0)
            let compressor = FrameCompressor(dictionary: [])
            let frame = builder.frame().encoded(at: place, compressor: compressor)
            #expect(frame.bytes.count <= bound, "seed \(seed)")
        }
    }
}

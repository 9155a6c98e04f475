// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import SimulatedDisk
import Testing

@testable import TidemarkLog

/// A frame whose first blocks were compressed before its commit was complete.
@Suite struct EarlyFrameTests {
    private static let dictionary = Array("what many blocks have".utf8)
    private let compressor = FrameCompressor(dictionary: dictionary)
    private let first = SequenceNumber(rawValue: 1_000)

    /// A draft with the events that it has in the end, and one that is still empty.
    private func drafts(seed: UInt64, events: Int = 300) -> (whole: CommitDraft, empty: CommitDraft)
    {
        var source = DraftSource(seed: seed)
        let whole = source.draft(events: events...events, payload: 200...900)
        let empty = CommitDraft(
            time: whole.time,
            received: whole.received,
            envelope: whole.envelope
        )
        return (whole, empty)
    }

    /// Appends events of another draft, which begin no zone, until there are a number of events.
    private func grow(_ draft: inout CommitDraft, to count: Int, like whole: CommitDraft) {
        for index in draft.events.count..<count {
            let start = index == 0 ? 0 : whole.events[index - 1].payloadEnd
            let payload = whole.payloads[start..<whole.events[index].payloadEnd]
            let zone = whole.events[index].zone
            draft.append(zone: zone == CommitDraft.ownSequence ? 77 : zone) { $0 += payload }
        }
    }

    /// Lets a draft grow to 300 events, and has it compressed meanwhile.
    private func compress(_ draft: inout CommitDraft, like whole: CommitDraft) {
        for count in stride(from: 20, through: 300, by: 20) {
            grow(&draft, to: count, like: whole)
            draft.compressCompleteBlocks()
        }
    }

    /// Returns a draft of which another thread has compressed all complete blocks.
    private func compressed(_ whole: CommitDraft, _ empty: CommitDraft) throws -> CommitDraft {
        var draft = empty
        let queue = DispatchQueue(label: "test")
        let owner = compressor.other
        let blocks = SharedBlocks(try #require(owner.take()), of: owner, on: queue)
        draft.begin(EarlyFrame(blocks), eventCount: 300)
        compress(&draft, like: whole)
        queue.sync {}
        #expect(blocks.compressedCount > 5)
        return draft
    }

    private func bytes(_ builder: FrameBuilder, _ compressor: FrameCompressor) -> [UInt8] {
        let place = FramePlace(salt: 1, offset: 256, syncedOffset: 256, chain: 0)
        return builder.frame().encoded(at: place, compressor: compressor).bytes
    }

    /// Returns a frame of a draft that nothing was begun of.
    private func plain(_ draft: CommitDraft) -> FrameBuilder {
        var builder = FrameBuilder(first: first)
        builder.append(draft)
        return builder
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `A frame is the same as one that is compressed at its end`(_ seed: UInt64) throws {
        let (whole, empty) = drafts(seed: seed)
        let draft = try compressed(whole, empty)
        let early = try #require(draft.earlyFrame(at: first))
        #expect(early.next == first + 300)
        #expect(early.commitCount == 1)
        #expect(early.lastTime == whole.time && early.lastReceived == whole.received)
        let expected = bytes(plain(draft), FrameCompressor(dictionary: Self.dictionary))
        // Apart, since a failed expectation prints its values.
        let isEqual = bytes(early, compressor) == expected
        #expect(isEqual)
    }

    @Test func `Commits that follow in the same frame are in it`() throws {
        let (whole, empty) = drafts(seed: 1)
        let draft = try compressed(whole, empty)
        var early = try #require(draft.earlyFrame(at: first))
        var expected = plain(draft)
        var source = DraftSource(seed: 9)
        for _ in 0..<30 {
            let next = source.draft()
            early.append(next)
            expected.append(next)
        }
        let isEqual =
            bytes(early, compressor)
            == bytes(expected, FrameCompressor(dictionary: Self.dictionary))
        #expect(isEqual)
    }

    @Test func `A segment with another dictionary compresses all of it again`() throws {
        let (whole, empty) = drafts(seed: 1)
        let draft = try compressed(whole, empty)
        let early = try #require(draft.earlyFrame(at: first))
        // Words that the blocks have, so that they are stored in another way.
        let words = Array(whole.payloads.prefix(4_000))
        let expected = bytes(plain(draft), FrameCompressor(dictionary: words))
        let isEqual = bytes(early, FrameCompressor(dictionary: words)) == expected
        #expect(isEqual)
    }

    @Test func `A frame is taken once, also by copies of a draft`() throws {
        let (whole, empty) = drafts(seed: 1)
        var draft = empty
        draft.begin(EarlyFrame(try #require(compressor.sharedBlocks())), eventCount: 300)
        var copy = draft
        compress(&draft, like: whole)
        #expect(draft.earlyFrame(at: first) != nil)
        compress(&copy, like: drafts(seed: 2).whole)
        #expect(copy.earlyFrame(at: first) == nil)
    }

    /// A change of a draft after its blocks were begun.
    enum Change: CaseIterable {
        case none, time, received, envelope, fewerEvents, payloads, zone, newZone, copy, grownCopy,
            removal
    }

    @Test(arguments: Change.allCases)
    func `Blocks of a draft that has changed are not used`(_ change: Change) throws {
        let (whole, empty) = drafts(seed: 1)
        var draft = empty
        draft.begin(EarlyFrame(try #require(compressor.sharedBlocks())), eventCount: 300)
        grow(&draft, to: 200, like: whole)
        draft.compressCompleteBlocks()
        var count = 300
        switch change {
        case .none: break
        case .time: draft.time += 1
        case .received: draft.received += 1
        case .envelope: draft.envelope.append(0)
        case .fewerEvents: count -= 1
        case .payloads: draft.patchPayloads { $0.storeBytes(of: 7, as: UInt8.self) }
        case .zone: draft.replaceZone(draft.events[0].zone, with: 99)
        case .newZone: draft.append(zone: CommitDraft.ownSequence) { $0.append(1) }
        case .copy:
            var other = draft
            grow(&other, to: 250, like: whole)
            other.compressCompleteBlocks()
        case .grownCopy:
            var other = draft
            grow(&other, to: 250, like: drafts(seed: 2).whole)
            other.compressCompleteBlocks()
            grow(&draft, to: 260, like: whole)
            draft.compressCompleteBlocks()
        case .removal: draft.removeEvents()
        }
        grow(&draft, to: count, like: whole)
        #expect((draft.earlyFrame(at: first) != nil) == (change == .none))
        draft.compressCompleteBlocks()
        #expect(draft.earlyFrame(at: first) == nil, "it was taken, or its blocks are of no use")
    }

    @Test(.enabled(if: CallerWrites.processorCount > 1))
    func `A log reads what was compressed early, and what was not`() throws {
        let disk = SimulatedFileSystem()
        let log = try SegmentLog.openAndSeal(
            CrashWorkload.path,
            creating: true,
            configuration: LogConfiguration(),
            environment: .fixed(disk),
            onDurable: { _ in }
        ).log
        var expected: [[UInt8]] = []
        var earlyCount = 0
        for seed in 1...12 as ClosedRange<UInt64> {
            let (whole, empty) = drafts(seed: seed)
            var draft = empty
            // A small commit has no need of it.
            #expect(log.earlyFrame(byteCount: 2_000) == nil)
            // None if the commit would begin a segment, or another thread still has the frame before.
            if let frame = log.earlyFrame(byteCount: whole.payloads.count) {
                earlyCount += 1
                // One that is decided at the same time is compressed at its end.
                #expect(log.earlyFrame(byteCount: whole.payloads.count) == nil)
                draft.begin(frame, eventCount: seed % 3 == 0 ? 301 : 300)
            }
            compress(&draft, like: whole)
            var start = 0
            for event in draft.events {
                expected.append(Array(draft.payloads[start..<event.payloadEnd]))
                start = event.payloadEnd
            }
            if seed % 4 == 0 {
                // Another commit begins the frame.
                var other = empty
                other.append(zone: 1) { $0.append(1) }
                _ = try log.append(other)
                expected.insert([1], at: expected.count - 300)
            }
            try log.commit(draft)
        }
        #expect(earlyCount > 0)
        #expect(log.earlyFrame(byteCount: 100 << 20) == nil, "no segment has this room")
        try log.close()
        let reader = try LogReader(CrashWorkload.path, fileSystem: disk)
        var found: [[UInt8]] = []
        try reader.scan(from: 1, through: reader.durableSequence) { event in
            found.append(Array(event.payload))
            return true
        }
        #expect(found == expected)
        #expect(try reader.verify().damage.isEmpty)
    }
}

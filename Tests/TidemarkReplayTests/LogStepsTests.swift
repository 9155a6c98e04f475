// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

@Suite struct LogStepsTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    @Test func `Steps back visit the same events as steps forward`() async throws {
        var lived = try LivedStore(at: folder.path(), seed: 12)
        try await lived.live(40)
        var steps = try await lived.store.steps()
        var forward: [SequenceNumber] = []
        while let step = try await steps.next() {
            forward.append(step.origin.sequence)
            #expect(step.event.sequence == step.origin.sequence)
        }
        #expect(forward.map(\.rawValue) == Array(1...lived.store.lastSequence.rawValue))
        var back: [SequenceNumber] = []
        // However often it was asked for more.
        #expect(try await steps.next() == nil)
        while let step = try await steps.previous() { back.append(step.origin.sequence) }
        #expect(back.reversed() == forward)
        let first = try #require(try await steps.next())
        #expect(first.origin.sequence == forward[0])
    }

    @Test func `Steps skip events that are no longer in the log`() async throws {
        var lived = try LivedStore(at: folder.path(), seed: 13)
        try await lived.live(60)
        let log = try lived.store.pastPicture().log
        let last = lived.store.lastSequence
        let kept: Set<UInt64> = [1, 2, 70, 71, last.rawValue]
        let gone = (1...last.rawValue).filter { !kept.contains($0) }
        let source = PrunedSource(
            log.source,
            without: Set(gone.map(SequenceNumber.init(rawValue:)))
        )
        var steps = LogSteps(
            PastLog(source: source, line: log.line),
            from: SequenceNumber(rawValue: 1),
            through: last
        )
        var forward: [UInt64] = []
        while let step = try await steps.next() { forward.append(step.origin.sequence.rawValue) }
        #expect(forward == kept.sorted())
        #expect(try await steps.go(to: last.next) == nil)
        var back: [UInt64] = []
        while let step = try await steps.previous() { back.append(step.origin.sequence.rawValue) }
        #expect(back.reversed() == forward)
    }
}

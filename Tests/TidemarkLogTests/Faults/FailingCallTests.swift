// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

/// The n-th call fails, for every n and every kind of call, once and for good.
@Suite struct FailingCallTests {
    /// What a workload met, and whether it was right.
    private struct Run {
        var history = History()
        var failure: LogError?
        var wrong: [String] = []
    }

    /// A store is made, filled over several segments, closed and opened again; at the first
    /// failure it is asked what it still does, and given up.
    private func run(on disk: SimulatedFileSystem) -> Run {
        var run = Run()
        var drafts = DraftSource(seed: 9)
        for opening in 0..<2 as Range<UInt64> {
            let wasClosed = run.history.isClosed
            run.history.isClosed = false
            do throws(LogError) {
                let (log, report) = try CrashWorkload.open(disk, seed: opening + 1)
                run.history.isCreated = true
                run.history.acknowledge(in: log)
                if wasClosed, !report.wasClean { run.wrong.append("a close was not found") }
                for _ in 0..<4 where run.failure == nil {
                    commit(drafts.draft(payload: 300...900), to: log, &run)
                }
                guard run.failure == nil else { return run }
                try log.close()
                run.history.isClosed = true
            } catch {
                run.failure = error
                return run
            }
        }
        return run
    }

    private func commit(_ draft: CommitDraft, to log: SegmentLog, _ run: inout Run) {
        let last = log.lastSequence
        do throws(LogError) {
            _ = try log.append(draft)
        } catch {
            if log.lastSequence != last { run.wrong.append("a refused commit took positions") }
            run.failure = error
        }
        if run.failure == nil {
            run.history.append(draft)
            do throws(LogError) {
                try log.blockUntilDurable(log.lastSequence)
                run.history.acknowledge(in: log)
                log.vouch()
            } catch {
                run.failure = error
                if error.code != .writerFailed { run.wrong.append("waiting threw \(error.code)") }
            }
        }
        if run.failure?.code == .writerFailed { ask(log, draft, &run) }
    }

    /// A store whose writer has ended refuses commits, and still reads what was acknowledged.
    private func ask(_ log: SegmentLog, _ draft: CommitDraft, _ run: inout Run) {
        let last = log.lastSequence
        do throws(LogError) {
            _ = try log.append(draft)
            run.wrong.append("a writer that failed took a commit")
        } catch {
            if error.code != .writerFailed { run.wrong.append("appending threw \(error.code)") }
        }
        if log.lastSequence != last { run.wrong.append("a refused commit took positions") }
        do throws(LogError) {
            let found = try log.written()
            if found != Array(run.history.events.prefix(run.history.acknowledged)) {
                run.wrong.append("a failed writer does not read what was acknowledged")
            }
        } catch {
            if error.code != .unreadable { run.wrong.append("reading threw \(error.code)") }
        }
        do throws(LogError) {
            try log.close()
            run.wrong.append("a failed writer was closed as if it were sound")
        } catch {
            if error.code != .writerFailed { run.wrong.append("closing threw \(error.code)") }
        }
    }

    /// Runs with a fault, then looks at the error and at what is on the disk.
    private func check(
        errorNumber: Int32,
        from call: SimulatedCall,
        _ what: String,
        _ fault: (SimulatedFileSystem) -> Void
    ) -> [String] {
        let disk = SimulatedFileSystem()
        fault(disk)
        var run = run(on: disk)
        if let failure = run.failure {
            let isFull = errorNumber == ENOSPC
            let codes: [LogError.Code] = [isFull ? .full : .unreadable, .writerFailed]
            if !codes.contains(failure.code) || failure.cause?.errorNumber != errorNumber
                || failure.path == nil
            {
                run.wrong.append("the failure was told as \(failure)")
            }
        }
        // Before another sync, the bytes have to be written again, or the file made anew.
        let next = disk.trace.first {
            [.sync, .write, .remove].contains($0.kind) && $0.path == call.path
                && $0.number > call.number
        }
        let isRepeated = call.kind == .sync && next?.kind == .sync
        if isRepeated { run.wrong.append("a failed sync was tried again") }
        disk.clearFaults()
        for image in [disk.crash(.processKilled), disk.crash(.losingEverythingUnsynced)] {
            if let broken = CrashPromise.violation(on: image, after: run.history) {
                run.wrong.append(broken)
            }
        }
        return run.wrong.map { "\(call), \(what): \($0)" }
    }

    /// How often the workload makes each kind of call.
    private func calls() -> [SimulatedCall] {
        let disk = SimulatedFileSystem()
        let run = run(on: disk)
        #expect(run.failure == nil)
        return disk.trace
    }

    @Test func `Any call may fail once`() throws {
        var wrong: [String] = []
        for call in calls() {
            wrong += check(errorNumber: EIO, from: call, "once") {
                $0.failCall(call.number, with: EIO)
            }
        }
        #expect(wrong.prefix(5) == [])
    }

    @Test func `Any kind of call may fail permanently`() throws {
        var wrong: [String] = []
        var numbers: [FileError.Call: Int] = [:]
        for call in calls() {
            let number = numbers[call.kind, default: 0] + 1
            numbers[call.kind] = number
            guard runsLongTests || call.changesDisk else { continue }
            wrong += check(errorNumber: EIO, from: call, "for good") {
                $0.failCall(number, of: call.kind, with: EIO, forGood: true)
            }
        }
        #expect(wrong.prefix(5) == [])
    }

    @Test func `Any call may find the disk full halfway`() throws {
        var wrong: [String] = []
        for call in calls() where [.write, .allocate, .sync, .open].contains(call.kind) {
            wrong += check(errorNumber: ENOSPC, from: call, "full") {
                $0.failCall(call.number, with: ENOSPC)
            }
        }
        #expect(wrong.prefix(5) == [])
    }

    @Test func `An unreadable range is not treated as damage and may be read later`() throws {
        let disk = SimulatedFileSystem()
        var history = run(on: disk).history
        let segment = try #require(disk.list(CrashWorkload.path + "/segments").first)
        let path = CrashWorkload.path + "/segments/" + segment
        try disk.failReads(of: path, in: 300..<2000, with: EIO)
        #expect { try CrashWorkload.open(disk, seed: 3).log.written() } throws: {
            ($0 as? LogError)?.code == .unreadable
        }
        history.isClosed = false
        disk.clearFaults()
        #expect(CrashPromise.violation(on: disk, after: history) == nil)
    }

    @Test func `After a failed sync, reopening writes the recovered events again`() throws {
        // The system keeps what it could not write readable, and no later sync writes it.
        let disk = SimulatedFileSystem()
        var history = History()
        var drafts = DraftSource(seed: 4)
        do {
            let (log, _) = try CrashWorkload.open(disk, seed: 1)
            history.isCreated = true
            let draft = drafts.draft(payload: 900...900)
            history.append(draft)
            disk.failCall(disk.callCount(of: .sync) + 1, of: .sync, with: EIO)
            _ = try log.append(draft)
            #expect(throws: LogError.self) { try log.blockUntilDurable(log.lastSequence) }
        }
        let (log, report) = try CrashWorkload.open(disk, seed: 2)
        try history.adopt(log, report)
        #expect(history.events.count > 0)
        for outcome in disk.crashOutcomes(limit: 50) {
            #expect(CrashPromise.violation(on: disk.crash(outcome), after: history) == nil)
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

/// Removes each sync from the code, as far as the disk can tell, and demands that some crash then
/// breaks the promise.
@Suite struct SyncMutantTests {
    /// Syncs whose removal no crash can show.
    ///
    /// A spare is synced twice: after it was filled with zeros, in the background, and with its
    /// header, while commits wait. The second makes all of it durable. The first is there so that
    /// the second has one sector to write instead of up to 64 MiB.
    static let harmless: [SyncPurpose] = [.spare]

    @Test(arguments: SyncPurpose.allCases.filter { !harmless.contains($0) })
    func `Without this sync, a crash breaks the guarantee`(_ purpose: SyncPurpose) throws {
        let whole = SimulatedFileSystem()
        try CrashWorkload(seed: 3).run(on: whole) { _, _ in }
        let removed = SyncPurpose.places(in: whole.trace).filter { $0.purpose == purpose }
        let first = try #require(removed.first, "the workload makes no such sync")

        let mutant = SimulatedFileSystem()
        for place in removed { mutant.ignoreSync(place.number, of: place.kind) }
        let verdict = Verdict()
        try CrashWorkload(seed: 3).run(on: mutant) { disk, history in
            guard verdict.violations.isEmpty, disk.callCount >= first.call.number else { return }
            for outcome in disk.crashOutcomes(limit: 8) + [.processKilled] {
                verdict.add(
                    CrashPromise.violation(
                        on: disk.crash(outcome),
                        after: history,
                        goingOn: false
                    ),
                    at: "before call \(disk.callCount + 1), \(outcome)"
                )
            }
        }
        #expect(!verdict.violations.isEmpty, "\(verdict.triedCount) crashes did not show it")
    }

    @Test func `Every sync of the workload has a known purpose`() throws {
        let files = SimulatedFileSystem()
        try CrashWorkload(seed: 3).run(on: files) { _, _ in }
        let places = SyncPurpose.places(in: files.trace)
        #expect(places.filter { $0.purpose == nil }.map(\.call.description) == [])
        #expect(Set(places.map(\.purpose)) == Set(SyncPurpose.allCases))
    }

    @Test func `The segment that an opening begins is synced once, with its header`() throws {
        let files = SimulatedFileSystem()
        let log = try CrashWorkload.open(files, seed: 3).log
        // Spares that are prepared later have other numbers.
        let syncs = files.trace.filter { $0.kind == .sync && $0.path.hasSuffix("/spare-0.tmp") }
        #expect(syncs.count == 1)
        try log.close()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog

/// The means to open a store again that was closed for work on its files.
struct Reopening: Sendable {
    let folder: StoreFolder
    let environment: StoreEnvironment
    /// Opens the parts of the store with the listeners and quotas of the previous parts.
    ///
    /// The last argument is true if the work on the files failed.
    let open: @Sendable (Listeners, QuotaSettings, Bool) throws(LogError) -> OpenStore

    /// The time that running calls get to end, in steps of `stepMilliseconds`.
    private static let stepLimit = 250
    private static let stepMilliseconds = 20

    /// Waits until no call uses the previous parts, for at most five seconds.
    func waitForCalls(_ isInUse: () -> Bool) {
        // In a simulation there is no other thread to wait for.
        guard !environment.log.writesInline else { return }
        for _ in 0..<Self.stepLimit where isInUse() { Self.pause() }
    }

    /// The time that readers of the files get to end, in steps.
    private static let readerStepLimit = 100

    /// Waits until the files of a log have no reader, for at most two seconds; returns false if they
    /// still have one.
    func waitForReaders(of log: SegmentLog) throws(LogError) -> Bool {
        for _ in 0..<Self.readerStepLimit {
            if try !log.isRead() { return true }
            // As above: in a simulation no reader ends meanwhile.
            if environment.log.writesInline { return false }
            Self.pause()
        }
        return false
    }

    /// Blocks the thread for a step.
    static func pause() {
        pauseThread(for: .milliseconds(stepMilliseconds))
    }
}

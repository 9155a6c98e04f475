// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkModel

/// Runs what waits for the disk for long on threads of its own, so that tasks which wait for nothing
/// are not held up by it.
struct BlockingWork: Sendable {
    /// Whether it runs on the thread that asks, for simulations in one thread.
    let runsInline: Bool
    private let queue = DispatchQueue(
        label: "tidemark.blobs",
        qos: .utility,
        attributes: .concurrent
    )

    init(runsInline: Bool) {
        self.runsInline = runsInline
    }

    /// Waits for some time; not at all where everything runs on the thread that asks.
    func pause(milliseconds: Int) async {
        if runsInline { return }
        await withCheckedContinuation { continuation in
            queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
                continuation.resume()
            }
        }
    }

    /// Runs a closure to its end; not cancellable.
    func run<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        if runsInline { return try body() }
        let result = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(SyncError) in try body() })
            }
        }
        return try result.get()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HummingbirdCore
import Logging
import NIOCore
import TidemarkLock

/// Runs the tasks of a connection on the thread of its event loop.
///
/// Otherwise every step of a request moves between that thread and Swift's thread pool: a request of
/// microseconds wakes sleeping threads several times.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop
    /// The jobs that wait for the loop, oldest first.
    private let waiting = Lock<[UnownedJob]>([])

    private init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        // Everything that a request does without leaving this executor runs on the loop's thread,
        // reads of the store included. A job that waits for the disk delays all other connections
        // of the loop.
        let job = UnownedJob(job)
        let isFirst = waiting.withLock { waiting in
            waiting.append(job)
            return waiting.count == 1
        }
        // The loop gets one task for all jobs that come before it runs: a change wakes a thousand
        // listeners at once.
        if isFirst { loop.execute { self.runWaiting() } }
    }

    private func runWaiting() {
        // The list is empty while its jobs run. So a job that comes meanwhile gets a task of its own,
        // and waits for its turn among the other tasks of the loop.
        let jobs = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    // Entries are never removed: a process has a few loops. An executor retains its loop, so a
    // later loop cannot get the identifier of one that is gone.
    private static let known = Lock<[ObjectIdentifier: LoopExecutor]>([:])

    /// The executor of an event loop; the same one each time.
    static func of(_ loop: any EventLoop) -> LoopExecutor {
        known.withLock { known in
            if let executor = known[ObjectIdentifier(loop)] { return executor }
            let executor = LoopExecutor(loop)
            known[ObjectIdentifier(loop)] = executor
            return executor
        }
    }
}

/// A channel whose requests are answered on the thread of its event loop.
struct LoopChannel<Base: ServerChildChannel>: ServerChildChannel {
    typealias Value = Base.Value

    let base: Base
    /// The requests that Hummingbird does not see; `nil` for channels on which it sees all.
    var direct: DirectAnswers?
    /// The time for which a channel with TLS may be open without a request.
    var idleTime: TimeAmount?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        if let idleTime {
            do {
                // In front of the handler of TLS, so that it sees connections without a handshake.
                try channel.pipeline.syncOperations.addHandler(IdleLimit(idleTime))
            } catch {
                return channel.eventLoop.makeFailedFuture(error)
            }
        }
        let value = base.setup(channel: channel, logger: logger)
        guard let direct else { return value }
        // `base` is set up at once, and the channel reads nothing before this returns.
        return value.flatMapThrowing { value in
            try DirectHandler.add(to: channel, direct, LoopExecutor.of(channel.eventLoop))
            return value
        }
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(LoopExecutor.of(value.channel.eventLoop)) {
            await base.handle(value: value, logger: logger)
        }
    }
}
#endif

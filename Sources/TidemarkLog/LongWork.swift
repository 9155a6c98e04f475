// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The progress of one step of long work.
///
/// Work of several steps begins each of them at zero.
public struct WorkProgress: Hashable, Codable, Sendable {
    /// The number of events or segments that the step has processed.
    public var done: UInt64
    /// The number of events or segments that the step has to process in total.
    public var total: UInt64

    /// Describes a progress.
    public init(done: UInt64, total: UInt64) {
        self.done = done
        self.total = total
    }
}

/// Work that may take more than a second: compaction, erasure, backup, restore, verification,
/// exports, reads as of a point, and queries of the past.
///
/// Long work reports its progress to a registered closure, and ends with `operationCancelled`, or
/// ``LogError/Code/cancelled``, soon after its task was cancelled. The store is then in the same
/// state as after any failure of that work: no data is lost, and no partial result remains.
///
/// ```swift
/// try await LongWork.reporting { progress in
///     print("\(progress.done) of \(progress.total)")
/// } during: {
///     _ = try await store.compact()
/// }
/// ```
public enum LongWork {
    /// The monitor of the current work; `nil` outside of work that can be cancelled.
    struct Watch: Sendable {
        /// Returns true if the work is to end.
        var isCancelled: @Sendable () -> Bool
        var report: (@Sendable (WorkProgress) -> Void)?

        /// Reports the progress of the work; throws `cancelled` if the work is to end.
        func step(_ done: UInt64, of total: UInt64) throws(LogError) {
            if isCancelled() {
                throw LogError(.cancelled, "The work was cancelled before it was done.")
            }
            report?(WorkProgress(done: min(done, total), total: total))
        }
    }

    @TaskLocal static var watch: Watch?
    @TaskLocal private static var report: (@Sendable (WorkProgress) -> Void)?

    /// Reports the progress of the long work that a closure waits for.
    ///
    /// `report` is called on the working thread, once for every few thousand events; it should
    /// return quickly.
    public static func reporting<Answer>(
        to report: @escaping @Sendable (WorkProgress) -> Void,
        isolation: isolated (any Actor)? = #isolation,
        during body: () async throws -> Answer
    ) async rethrows -> Answer {
        try await $report.withValue(report, operation: body, isolation: isolation)
    }

    /// Runs work that ends once `isCancelled` returns true, and reports to the closure of
    /// `context`.
    package static func run<Answer, Failure: Error>(
        _ context: Context = Context(),
        isCancelled: @escaping @Sendable () -> Bool = { Task.isCancelled },
        _ body: () throws(Failure) -> Answer
    ) throws(Failure) -> Answer {
        let watch = Watch(isCancelled: isCancelled, report: context.report)
        // `withValue` does not keep the type of the error, so the error is in a `Result`.
        let result = $watch.withValue(watch) { Result { () throws(Failure) in try body() } }
        return try result.get()
    }

    /// Runs work that may suspend, and whose reads of the log report progress and end when the task
    /// is cancelled.
    ///
    /// Not for work that changes a store: it says itself where it may end.
    package static func watching<Answer>(
        isolation: isolated (any Actor)? = #isolation,
        during body: () async throws -> Answer
    ) async rethrows -> Answer {
        let watch = Watch(isCancelled: { Task.isCancelled }, report: report)
        return try await $watch.withValue(watch, operation: body, isolation: isolation)
    }

    /// Reports the progress of the current work; throws `cancelled` if the work is to end.
    package static func step(_ done: Int, of total: Int) throws(LogError) {
        try watch?.step(UInt64(done), of: UInt64(total))
    }

    /// The progress closure of a task, carried to the thread that works.
    package struct Context: Sendable {
        fileprivate let report: (@Sendable (WorkProgress) -> Void)?

        /// Takes the closure of the current task.
        package init() { report = LongWork.report }
    }
}

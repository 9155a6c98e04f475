// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The progress of one step of long work.
///
/// Work of several steps begins each of them at zero.
public struct WorkProgress: Hashable, Codable, Sendable {
    /// Events or segments that the step has done.
    public var done: UInt64
    /// Those that it has to do in all.
    public var total: UInt64

    /// Describes a progress.
    public init(done: UInt64, total: UInt64) {
        self.done = done
        self.total = total
    }
}

/// Work that may take more than a second: compaction, erasure, backup, restoring, verification, reads as of a
/// point, and questions about the past.
///
/// It tells how far it has come to whoever asks for that, and ends with `operationCancelled`, or ``LogError/Code/cancelled``,
/// soon after its task was cancelled. A store is then as after any failure of that work: nothing is lost, and nothing is
/// half done.
///
/// ```swift
/// try await LongWork.reporting { progress in
///     print("\(progress.done) of \(progress.total)")
/// } during: {
///     _ = try await store.compact()
/// }
/// ```
public enum LongWork {
    /// The monitor of the work that is under way; `nil` outside of work that can be cancelled.
    struct Watch: Sendable {
        /// True if the work is to end.
        var isCancelled: @Sendable () -> Bool
        var report: (@Sendable (WorkProgress) -> Void)?

        /// Tells how far the work is; throws `cancelled` if it is to end.
        func step(_ done: UInt64, of total: UInt64) throws(LogError) {
            if isCancelled() {
                throw LogError(.cancelled, "The work was cancelled before it was done.")
            }
            report?(WorkProgress(done: min(done, total), total: total))
        }
    }

    @TaskLocal static var watch: Watch?
    @TaskLocal private static var report: (@Sendable (WorkProgress) -> Void)?

    /// Reports how far long work comes that a closure waits for.
    ///
    /// `report` is called on the thread that works, for each few thousand events: it should be quick.
    public static func reporting<Answer>(
        to report: @escaping @Sendable (WorkProgress) -> Void,
        isolation: isolated (any Actor)? = #isolation,
        during body: () async throws -> Answer
    ) async rethrows -> Answer {
        try await $report.withValue(report, operation: body, isolation: isolation)
    }

    /// Runs work that ends once `isCancelled` says so, and reports to whom the task of `context` has named.
    package static func run<Answer, Failure: Error>(
        _ context: Context = Context(),
        isCancelled: @escaping @Sendable () -> Bool = { Task.isCancelled },
        _ body: () throws(Failure) -> Answer
    ) throws(Failure) -> Answer {
        let watch = Watch(isCancelled: isCancelled, report: context.report)
        let result = $watch.withValue(watch) { Result { () throws(Failure) in try body() } }
        return try result.get()
    }

    /// Tells how far the work is that is under way; throws `cancelled` if it is to end.
    package static func step(_ done: Int, of total: Int) throws(LogError) {
        try watch?.step(UInt64(done), of: UInt64(total))
    }

    /// To whom a task reports; carried to the thread that works.
    package struct Context: Sendable {
        fileprivate let report: (@Sendable (WorkProgress) -> Void)?

        /// That of the task that runs.
        package init() { report = LongWork.report }
    }
}

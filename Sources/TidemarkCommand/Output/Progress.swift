// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A progress bar on standard error: only on a terminal, and only once a second has passed.
struct Progress: ~Copyable, Sendable {
    /// Writes to the terminal; `nil` if there is none, or nothing more is shown.
    private var write: (@Sendable (String) -> Void)?
    private let start = ContinuousClock.now
    private var nextDrawing: Duration
    private var hasDrawn = false
    private static let barWidth = 30

    /// A bar on standard error.
    init() {
        let isTerminal = isatty(STDERR_FILENO) == 1
        self.init(after: .seconds(1), isTerminal ? Self.writeToStandardError : nil)
    }

    /// A bar that is written by a closure, from a time on; `nil` shows nothing.
    init(after delay: Duration, _ write: (@Sendable (String) -> Void)?) {
        self.write = write
        nextDrawing = delay
    }

    private static let writeToStandardError: @Sendable (String) -> Void = { text in
        try? writeAll(Array(text.utf8)[...], to: STDERR_FILENO, name: "standard error")
    }

    /// Updates the progress: the part done, from 0 to 1 if known, and the count.
    ///
    /// Cheap enough to call for every thousand records: it draws at most ten times a second.
    mutating func update(part: Double?, _ counted: @autoclosure () -> String) {
        guard write != nil else { return }
        let elapsed = start.duration(to: .now)
        guard elapsed >= nextDrawing else { return }
        // Counted from this drawing and not from the one that was due, so that a slow terminal does
        // not cause a burst.
        nextDrawing = elapsed + .milliseconds(100)
        hasDrawn = true
        draw(Self.line(part: part, counted: counted(), elapsed: elapsed))
    }

    /// Updates the progress by what is done of a total.
    mutating func update(_ done: UInt64, of total: UInt64, _ counted: @autoclosure () -> String) {
        update(part: Double(done) / Double(max(1, total)), counted())
    }

    /// Takes the bar away.
    mutating func finish() {
        if hasDrawn { draw("") }
        hasDrawn = false
    }

    /// Removes the bar, and shows no other.
    mutating func end() {
        finish()
        write = nil
    }

    /// One drawing of the bar.
    static func line(part: Double?, counted: String, elapsed: Duration) -> String {
        let seconds = "\(elapsed.components.seconds) s"
        guard let part else { return "\(counted)  \(seconds)" }
        // A file that grows while it is read gives a part above 1, and `repeating:count:` must not
        // get a negative count.
        let known = min(max(part, 0), 1)
        let filled = Int(known * Double(barWidth))
        let bar =
            String(repeating: "=", count: filled)
            + String(repeating: " ", count: barWidth - filled)
        return "[\(bar)] \(Int(known * 100)) %  \(counted)  \(seconds)"
    }

    private func draw(_ line: String) {
        // Back to the first column, erase the line, write.
        write?("\r\u{1B}[K\(line)")
    }
}

extension Progress {
    /// Shows the progress of a long operation, which the closure reports to its argument.
    static func showing<Answer>(
        _ unit: String,
        during body: (_ report: @escaping @Sendable (UInt64, UInt64) -> Void) async throws -> Answer
    ) async rethrows -> Answer {
        let shown = Lock(Progress())
        defer { shown.withLock { $0.finish() } }
        return try await body { done, total in
            // The closure is called on the threads that do the work.
            shown.withLock { $0.update(done, of: total, "\(done) \(unit)") }
        }
    }

    /// Shows the progress of a long operation that a closure waits for.
    static func showing<Answer>(
        _ unit: String,
        during body: () async throws -> Answer
    ) async rethrows -> Answer {
        let shown = Lock(Progress())
        defer { shown.withLock { $0.finish() } }
        return try await LongWork.reporting { progress in
            shown.withLock {
                $0.update(progress.done, of: progress.total, "\(progress.done) \(unit)")
            }
        } during: {
            try await body()
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkReplay

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A shell command that judges a state on its standard input.
///
/// Its exit status is the verdict: 0 good, 1 to 124 bad, 125 unknown.
struct StateJudge {
    /// The command for `sh -c`.
    let command: String

    /// Runs the command with the bytes that the closure writes to a descriptor.
    ///
    /// The command's standard output goes to standard error. The command need not read all of its
    /// input.
    func judge(_ write: (Int32) async throws -> Void) async throws -> Bisection.Verdict {
        let process = Process()
        let input = Pipe()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardInput = input
        process.standardOutput = FileHandle.standardError
        do {
            try Self.start(process)
        } catch {
            throw CommandError("/bin/sh cannot be started: \(error.localizedDescription)")
        }
        // Otherwise we would not notice that the command has stopped reading.
        try? input.fileHandleForReading.close()
        do {
            try await write(input.fileHandleForWriting.fileDescriptor)
        } catch is ClosedPipe {
            // It has seen enough.
        }
        // The command reads up to the end of its input, and would wait for it.
        try? input.fileHandleForWriting.close()
        return try Self.verdict(of: process)
    }

    /// Waits for the end of a process, which blocks the thread, and reads its status.
    private static func verdict(of process: Process) throws -> Bisection.Verdict {
        process.waitUntilExit()
        let status = process.terminationStatus
        switch (process.terminationReason, status) {
        case (.exit, 0): return .good
        case (.exit, 1...124): return .bad
        case (.exit, 125): return .unknown
        case (.exit, _):
            throw CommandError(
                "The command ended with status \(status). Expected 0 for good, 1 to 124 for bad, 125 "
                    + "where it cannot tell; 126 and 127 are a command that cannot be run."
            )
        default:
            throw CommandError(
                "The command was ended by signal \(status), and does not say whether the state is good."
            )
        }
    }

    /// Starts a process with the signals that a shell would give it.
    ///
    /// Our threads hold signals back and we ignore some, and a process begins as its parent is: a
    /// command that ended itself by a signal would not end.
    private static func start(_ process: Process) throws {
        var none = sigset_t()
        var held = sigset_t()
        sigemptyset(&none)
        // Only this thread's mask, because `run` starts the process from it.
        pthread_sigmask(SIG_SETMASK, &none, &held)
        // The process inherits what is set at this moment, so the signals are ignored again right
        // after its start.
        for number in IgnoredSignals.all { signal(number, SIG_DFL) }
        defer {
            for number in IgnoredSignals.all { signal(number, SIG_IGN) }
            pthread_sigmask(SIG_SETMASK, &held, nil)
        }
        try process.run()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// The built command, run as a process of its own.
enum Command {
    /// How a run ended, and what it said.
    struct Outcome {
        var status: Int32
        var output: String
        var errors: String

        /// The lines of the output.
        var lines: [Substring] { output.split(separator: "\n") }
    }

    /// Seconds after which a run is ended; generous, since tests share the machine.
    private static let timeLimit = 300

    /// Where it lies: beside the tests.
    static var path: String {
        let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
        let folder = tests?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
        return folder.appendingPathComponent("tidemark").path
    }

    /// Runs it to its end.
    static func run(_ arguments: String..., input: String = "") async throws -> Outcome {
        try await run(arguments, input: Array(input.utf8))
    }

    /// Runs it to its end.
    ///
    /// Input and output are files, so that nothing waits for anybody.
    static func run(_ arguments: [String], input: [UInt8] = []) async throws -> Outcome {
        try await runProcess(path, arguments, input: input)
    }

    /// Runs a script in which `$tidemark` is the command.
    static func script(_ text: String, in folder: ScratchFolder) async throws -> Outcome {
        let script = "cd '\(folder.url.path)'; tidemark='\(path)'; \(text)"
        return try await runProcess("/bin/sh", ["-c", script], input: [])
    }

    private static func runProcess(
        _ path: String,
        _ arguments: [String],
        input: [UInt8]
    ) async throws -> Outcome {
        let folder = try ScratchFolder()
        func file(_ name: String, _ bytes: [UInt8]) throws -> FileHandle {
            let url = folder.url.appendingPathComponent(name)
            try Data(bytes).write(to: url)
            return try FileHandle(forUpdating: url)
        }
        let input = try file("input", input)
        let output = try file("output", [])
        let errors = try file("errors", [])
        // A process keeps them, and on Linux nobody lets go of it.
        defer { for file in [input, output, errors] { try? file.close() } }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        // One that hangs fails its test by its status, instead of keeping all others waiting. A process
        // is the leader of a group: what it started ends with it, or `Process` would wait for that.
        let watch = Task {
            try await Task.sleep(for: .seconds(timeLimit))
            kill(-process.processIdentifier, SIGKILL)
        }
        defer { watch.cancel() }
        try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in ended.resume() }
            do {
                try withoutBlockedSignals { try process.run() }
            } catch {
                process.terminationHandler = nil
                ended.resume(throwing: error)
            }
        }
        return Outcome(
            status: process.terminationStatus,
            output: try String(contentsOfFile: folder.path("output"), encoding: .utf8),
            errors: try String(contentsOfFile: folder.path("errors"), encoding: .utf8)
        )
    }

    /// Runs a closure with no signal blocked: the threads of a test block most of them, and a
    /// process inherits that from the thread that starts it.
    private static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }
}

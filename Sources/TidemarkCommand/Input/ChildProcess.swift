// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program that works for a command: its output is ours to read, its complaints go to standard
/// error.
final class ChildProcess {
    /// The input of the process.
    enum Input {
        case nothing
        case file(FileHandle)
        /// Bytes that we write to ``ChildProcess/inputDescriptor``.
        case pipe
    }

    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()
    private let name: String

    /// Starts a program that is found on `PATH`, without some variables of the environment.
    init(_ arguments: [String], without variables: [String] = [], input: Input) throws {
        name = arguments.first ?? ""
        // `Process` takes a path and does not search `PATH`. `env` does.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = variables.flatMap { ["-u", $0] } + arguments
        // Its errors go to ours: a pipe for them that nobody reads would fill, and stop the
        // process.
        process.standardOutput = output
        switch input {
        // Without this, the program would share our standard input and could take bytes from it.
        case .nothing: process.standardInput = FileHandle.nullDevice
        case .file(let file): process.standardInput = file
        case .pipe: process.standardInput = self.input
        }
        do {
            try process.run()
        } catch {
            throw CommandError("\(name) cannot be started: \(error.localizedDescription)")
        }
    }

    /// The descriptor from which to read the output of the process.
    var outputDescriptor: Int32 { output.fileHandleForReading.fileDescriptor }

    /// The descriptor to which to write the input of the process, if that is a pipe.
    var inputDescriptor: Int32 { input.fileHandleForWriting.fileDescriptor }

    /// Waits for its end, once its output has ended; throws unless it went well.
    func finish() throws {
        // Only after the end of its output. If the pipe were full, the process would wait for us,
        // and we for it.
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw CommandError(
                "\(name) failed with status \(process.terminationStatus); its message is above."
            )
        }
    }

    deinit {
        // It only reads for us, so it has nothing to clean up; and it may have inherited a signal
        // mask that blocks milder signals.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }
}

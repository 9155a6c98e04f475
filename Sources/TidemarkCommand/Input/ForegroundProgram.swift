// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Subprocess

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A program that is run in our place: it has our terminal, our standard streams, and the signals
/// that we get.
struct ForegroundProgram {
    /// Its name or path.
    let name: String
    let arguments: [String]

    /// Runs it to its end with some variables set, or removed if the value is `nil`; returns the
    /// status as a shell does.
    ///
    /// The status is 128 plus the signal's number for a program ended by a signal, 127 for a
    /// missing program, and 126 for one that cannot be run.
    func run(
        with variables: [Subprocess.Environment.Key: String?]
    ) async throws -> Int32 {
        do {
            let result = try await Subprocess.run(
                // As a shell does: a name with a slash is a path and is not searched for on `PATH`.
                name.contains("/") ? .path(.init(name)) : .name(name),
                arguments: Arguments(arguments),
                environment: .inherit.updating(variables),
                input: .currentStandardInput,
                output: .currentStandardOutput,
                error: .currentStandardError
            ) { execution in
                // Here the program is known to run. Signals that arrived before are sent to it now.
                ForwardedSignals.forward(to: execution.processIdentifier.value)
            }
            // The program has ended, and its number may soon belong to another process.
            ForwardedSignals.forward(to: 0)
            switch result.terminationStatus {
            case .exited(let code): return code
            // The convention of shells, also for 126 and 127 below.
            case .signaled(let number): return 128 + number
            }
        } catch let error as SubprocessError
            where [.executableNotFound, .spawnFailed].contains(error.code)
        {
            // The library calls a file that may not be executed missing too.
            let isThere = name.contains("/") && access(name, F_OK) == 0
            guard error.code == .spawnFailed || isThere else {
                note("\(name): There is no such command.")
                return 127
            }
            let reason = error.code == .spawnFailed ? error.underlyingError : nil
            note(
                "\(name) cannot be run: "
                    + (reason.map { "\(describe($0.rawValue))." }
                        ?? "It is a folder, or may not be executed.")
            )
            return 126
        }
    }
}
#endif

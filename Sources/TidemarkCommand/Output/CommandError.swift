// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The reason why a command failed, as text for a person.
///
/// The command ends with status 1.
struct CommandError: Error, CustomStringConvertible {
    /// A description of the error: its cause, its subject and its remedy.
    let description: String

    /// Takes a text that may quote names from untrusted input.
    init(_ description: String) {
        self.description = description.printableLines
    }

    /// Describes a failed system call: the attempt, the system's message and, if known, a remedy.
    init(attempt: String, _ errorNumber: Int32) {
        // Made only for its remedy, which does not contain the path.
        let error = FileError(call: .open, path: "", errorNumber: errorNumber)
        let remedy = errorNumber == ENOENT ? "Check the path." : error.remedy
        let failure = "\(attempt): \(describe(errorNumber))."
        description = remedy.map { "\(failure) \($0)" } ?? failure
    }
}

/// The system's words for an error number.
func describe(_ errorNumber: Int32) -> String {
    String(cString: strerror(errorNumber))
}

/// Prints a message apart from the output: damage, notes, progress.
func note(_ text: String) {
    // A message that cannot be delivered has no other place to go.
    try? writeAll(
        Array("\(text.printableLines.bounded(echoing: []))\n".utf8)[...],
        to: STDERR_FILENO,
        name: "standard error"
    )
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkLog

extension LogError {
    /// The error for a person: file, offset, expected and actual content, remedy.
    var text: String {
        // The message of a system error names its file already.
        let message = message.withWholeCommands
        guard let path, cause == nil else { return message }
        guard let offset else { return "\(path): \(message)" }
        return "\(path), offset \(offset): \(message)"
    }
}

extension String {
    /// The text with complete commands in place of the library's command names, ready to run.
    var withWholeCommands: String {
        replacing("`tidemark log salvage`", with: "`tidemark log salvage STORE NEW`")
            .replacing("`tidemark log verify`", with: "`tidemark log verify STORE`")
    }
}

/// Ends a command that read a store: reports damage and the remains of interrupted writes on
/// standard error.
///
/// Throws, for status 1, if anything was damaged.
func finish(_ reader: any EventSource) throws {
    // First, because damage ends the command with an error.
    noteTornTail(reader.tornByteCount)
    try finish(reader.damage)
}

/// Reports damage; throws, for status 1, if there is any.
func finish(_ damage: [LogError]) throws {
    guard !damage.isEmpty else { return }
    for error in damage { note("Damaged: \(error.text)") }
    throw ExitCode.failure
}

/// Reports that a store still has data that was to be erased.
func noteCutOffErasure() {
    note(
        """
        An erasure of the store was interrupted, and some of the erased data is still here. The next \
        command that writes into the store completes the erasure first.
        """
    )
}

/// Reports an unfinished write, if there is one.
///
/// It is not damage: the write was never acknowledged.
func noteTornTail(_ byteCount: UInt64) {
    guard byteCount > 0 else { return }
    note(
        """
        The last write was cut short before it was acknowledged; the next writer discards its \
        \(byteCount) bytes. Nothing is lost.
        """
    )
}

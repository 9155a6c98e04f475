// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkLog

extension LogError {
    /// The error for a person: file, offset, what was expected and found, what to do.
    var text: String {
        // What the system refused names its file already.
        let message = message.withWholeCommands
        guard let path, cause == nil else { return message }
        guard let offset else { return "\(path): \(message)" }
        return "\(path), offset \(offset): \(message)"
    }
}

extension String {
    /// The text with what the commands that the library names take, as they are to be run.
    var withWholeCommands: String {
        replacing("`tidemark log salvage`", with: "`tidemark log salvage STORE NEW`")
            .replacing("`tidemark log verify`", with: "`tidemark log verify STORE`")
    }
}

/// Ends a command that read a store: says on standard error what was damaged, and what a stop
/// left behind.
///
/// Throws, for status 1, if anything was damaged.
func finish(_ reader: any EventSource, and more: [LogError] = []) throws {
    noteTornTail(reader.tornByteCount)
    try finish(reader.damage + more)
}

/// Says what was damaged; throws, for status 1, if anything was.
func finish(_ damage: [LogError]) throws {
    guard !damage.isEmpty else { return }
    for error in damage { note("Damaged: \(error.text)") }
    throw ExitCode.failure
}

/// Says that a store has still what was to be erased from it.
func noteCutOffErasure() {
    note(
        """
        An erasure of the store was cut off, and what is to go is still here. The next command that \
        writes into it ends the erasure first.
        """
    )
}

/// Says that a stop left a write unfinished, if one did.
///
/// That is no damage: nobody was ever told that it was there.
func noteTornTail(_ byteCount: UInt64) {
    guard byteCount > 0 else { return }
    note(
        """
        The last write was cut short before it was acknowledged; the next writer discards its \
        \(byteCount) bytes. Nothing is lost.
        """
    )
}

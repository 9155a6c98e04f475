// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization

/// A file to which bodies are appended with group commit: bodies that arrive during a sync share the
/// next one.
final class AppendedFile: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isWriting = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "append")

    init(_ path: String) throws {
        descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Appends a body; durable when it returns.
    func append(_ body: [UInt8]) async {
        await withCheckedContinuation { continuation in
            let begins = state.withLock { state in
                state.bytes += body
                state.waiting.append(continuation)
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if begins { queue.async { self.write() } }
        }
    }

    private func write() {
        while true {
            let (bytes, waiting) = state.withLock { state in
                let taken = (state.bytes, state.waiting)
                state.isWriting = !taken.1.isEmpty
                state.bytes = []
                state.waiting = []
                return taken
            }
            if waiting.isEmpty { return }
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Foundation.write(descriptor, $0.baseAddress, $0.count)
                }
                precondition(count > 0, "The file cannot be written.")
                rest = rest.dropFirst(count)
            }
            precondition(fdatasync(descriptor) == 0, "The file cannot be synced.")
            for one in waiting { one.resume() }
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text without its middle if it is too long for an error.
    ///
    /// Errors quote what clients send, which may have megabytes. The beginning of an error says
    /// what is wrong, and its end what to do. O(1) for a text that is short enough.
    package var boundedForErrors: String {
        guard utf8.count > 4_000 else { return self }
        // Both indices are rounded down to the beginning of a scalar.
        let head = utf8.index(utf8.startIndex, offsetBy: 2_000)
        let tail = utf8.index(utf8.endIndex, offsetBy: -1_000)
        return "\(self[..<head])…\(self[tail...])"
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The source of an import's commits: lines of a change stream, one after another.
protocol CommitLines: AnyObject {
    /// The next line without its end; `nil` after the last. Use it before the next call.
    func next() throws -> ArraySlice<UInt8>?

    /// The name of the last line in errors: `line 12`, or `commit 1a2b…`.
    var place: String { get }

    /// The part of the input that has been read, from 0 to 1; `nil` if unknown.
    var part: Double? { get }

    /// The skipped parts of the input, in sentences for a person.
    var notes: [String] { get }
}

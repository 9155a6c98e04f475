// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Where an import takes its commits from: lines of a change stream, one after another.
protocol CommitLines: AnyObject {
    /// The next line without its end; `nil` after the last. Use it before the next call.
    func next() throws -> ArraySlice<UInt8>?

    /// What the last line was, for errors: `line 12`, or `commit 1a2b…`.
    var place: String { get }

    /// How far the reading is, from 0 to 1, where that can be known.
    var part: Double? { get }

    /// What was left out, in sentences for a person.
    var notes: [String] { get }
}

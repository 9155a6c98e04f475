// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The change of one commit to one path, as `git log --raw -z` prints it.
struct GitChange: Equatable {
    /// The file's mode after the commit, in octal digits.
    ///
    /// Such as `100644`; `120000` for a link, `160000` for another repository's commit, `000000`
    /// if the path is gone.
    var mode: String
    /// The id of its content after the commit.
    var blob: String
    /// The path from the top of the repository, which need not be text.
    var path: [UInt8]

    /// True if the path does not exist after the commit.
    var isDeletion: Bool { mode == "000000" }

    /// True if the content is in this repository.
    var hasContent: Bool { !isDeletion && mode != "160000" }

    /// Reads `:MODE MODE ID ID STATUS` and the path that follows it; `nil` if it is not of that
    /// form.
    init?(header: ArraySlice<UInt8>, path: ArraySlice<UInt8>) {
        let words = header.split(separator: UInt8(ascii: " "))
        guard words.count == 5, words[0].first == UInt8(ascii: ":") else { return nil }
        // Modes and ids come in pairs, before and after the commit. Only the state after it is
        // imported.
        mode = String(decoding: words[1], as: UTF8.self)
        blob = String(decoding: words[3], as: UTF8.self)
        self.path = Array(path)
    }
}

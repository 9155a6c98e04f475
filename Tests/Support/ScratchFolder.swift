// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// A folder for one test's files, removed when it is dropped.
package final class ScratchFolder: Sendable {
    /// Where it lies.
    package let url: URL

    /// Makes it.
    package init() throws {
        url = FileManager.default.temporaryDirectory
            .appending(path: "tidemark-\(UInt64.random(in: .min ... .max))")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        // A store that was dropped without being closed may still write a file while its folder is
        // removed, which then fails.
        for _ in 0..<10 where FileManager.default.fileExists(atPath: url.path) {
            try? FileManager.default.removeItem(at: url)
        }
    }

    /// The path of something in it.
    package func path(_ name: String = "test.tide") -> String {
        url.appending(path: name).path
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A folder for one test's stores, removed when it is dropped.
final class ScratchFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory
            .appending(path: "tidemark-\(UInt64.random(in: .min ... .max))")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String = "test.tide") -> String {
        url.appending(path: name).path
    }
}

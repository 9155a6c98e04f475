// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A folder of a test's own, removed when the test lets go of it.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("tidemark-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// The path of something in the folder.
    func path(_ name: String) -> String {
        url.appendingPathComponent(name).path
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}

/// A file with given bytes, removed when the test lets go of it.
final class TemporaryFile {
    private let folder: TemporaryFolder
    let url: URL

    init(_ bytes: [UInt8], name: String = "file") throws {
        folder = try TemporaryFolder()
        url = folder.url.appendingPathComponent(name)
        try Data(bytes).write(to: url)
    }
}

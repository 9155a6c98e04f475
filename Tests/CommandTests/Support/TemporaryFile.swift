// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// A file with given bytes, removed when the test lets go of it.
final class TemporaryFile {
    private let folder: ScratchFolder
    let url: URL

    init(_ bytes: [UInt8], name: String = "file") throws {
        folder = try ScratchFolder()
        url = folder.url.appendingPathComponent(name)
        try Data(bytes).write(to: url)
    }
}

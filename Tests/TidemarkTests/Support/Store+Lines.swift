// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel

extension Store {
    /// All commits, oldest first.
    func commits() throws -> [ChangeStreamLine] {
        var lines: [ChangeStreamLine] = []
        try visitCommits { line in
            lines.append(line)
            return true
        }
        return lines
    }

    /// Adds lines by one import, and waits until they are on disk.
    func importLines(_ lines: [ChangeStreamLine]) async throws {
        var importing = try beginImport()
        for line in lines { _ = try await importing.add(line) }
        try await importing.finish()
    }
}

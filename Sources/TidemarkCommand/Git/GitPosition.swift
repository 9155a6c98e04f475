// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkLog
import TidemarkModel

/// The last commit of a repository in a store.
struct GitPosition {
    /// The commit's id.
    let commit: String
    /// The position of its last event.
    let sequence: SequenceNumber

    /// Finds the last commit that ``GitHistory`` has made; `nil` if there is none.
    ///
    /// Reads the log backwards, and not at all without the zone `files`.
    init?(in store: Store) throws {
        let database = DatabaseID()
        guard
            try store.zoneFigures(of: database).contains(where: {
                $0.standing.identity.zoneName == "files"
            })
        else { return nil }
        var end = store.lastSequence
        let horizon = try store.historyHorizon()
        var count: UInt64 = 1_000
        while end > horizon {
            let start = max(horizon.rawValue, end.rawValue - min(count, end.rawValue))
            let first = SequenceNumber(rawValue: start).next
            var found: ChangeStreamLine?
            try store.visitCommits(from: first, through: end) { line in
                if line.database == database, Self.isCommit(line) { found = line }
                return true
            }
            if let found, let id = found.requestID {
                commit = id
                sequence = end
                return
            }
            end = first.previous
            count *= 2
        }
        return nil
    }

    private static func isCommit(_ line: ChangeStreamLine) -> Bool {
        // SHA-1 or SHA-256 in hexadecimal digits.
        guard let id = line.requestID, id.utf8.count == 40 || id.utf8.count == 64 else {
            return false
        }
        return id.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}

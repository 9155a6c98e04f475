// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkLog
import TidemarkModel

extension GitHistory {
    /// Returns the id of the last commit of a repository in a store; `nil` if there is none.
    ///
    /// Reads the end of the log, and not at all without the zone `files`.
    static func lastCommit(in store: Store) throws -> String? {
        let database = DatabaseID()
        let zones = try store.zoneFigures(of: database)
        guard zones.contains(where: { $0.standing.identity.zoneName == "files" }) else {
            return nil
        }
        let last = store.lastSequence.rawValue
        var id: String?
        var count: UInt64 = 1_000
        repeat {
            // Each stretch ends at the last event: one that ends in dropped history cannot be read.
            let start = last - min(last, count)
            try store.visitCommits(from: SequenceNumber(rawValue: start).next) { line in
                if line.database == database, Self.isCommit(line.requestID) { id = line.requestID }
                return true
            }
            if start == 0 { break }
            count *= 4
        } while id == nil
        return id
    }

    /// Returns true for a SHA-1 or SHA-256 in hexadecimal digits.
    private static func isCommit(_ requestID: String?) -> Bool {
        guard let digits = requestID?.utf8, digits.count == 40 || digits.count == 64 else {
            return false
        }
        return digits.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}

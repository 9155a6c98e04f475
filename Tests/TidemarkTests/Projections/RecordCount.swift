// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark

/// How often records of each type were saved.
actor RecordCount: Projection {
    /// All databases: types are counted, and no record is kept.
    nonisolated let databaseID: DatabaseID? = nil
    private(set) var counts: [String: Int] = [:]
    private var lastMark: ProjectionMark?

    func mark() -> ProjectionMark? { lastMark }

    func take(_ commits: [ProjectedCommit], through mark: ProjectionMark) {
        for case .save(_, let type, _, _) in commits.flatMap(\.line.changes) {
            counts[type.string, default: 0] += 1
        }
        lastMark = mark
    }

    func reset(_ reason: ProjectionReset) {
        counts = [:]
        lastMark = nil
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The decision about one item of a request.
package enum Verdict: Sendable {
    /// The record is saved; the save replaces its last version if the record exists.
    case save
    /// The record is deleted.
    case delete
    /// Nothing has to change.
    case nothingToDo
    /// Rejected, independently of the record's version.
    case refused(SyncError)
    /// Rejected because of the record's current version.
    case conflict
}

extension [Verdict] {
    /// Returns true if an item is a save.
    func isSave(_ index: Int) -> Bool {
        if case .save = self[index] { true } else { false }
    }
}

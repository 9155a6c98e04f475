// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel
import TidemarkRules

/// Saved subscriptions that no event has needed yet, by their databases.
///
/// A subscription's record is named after its database, so the name alone suffices to sort it.
/// Reading the records, with their predicates, takes some thirty times as long.
struct UnreadSubscriptions: Sendable {
    /// A change to a subscription.
    enum Change: Sendable {
        case saved(RecordBody, sequence: SequenceNumber)
        case removed(Name)
    }

    /// Stands for a database; two may have the same one, and are then read together.
    typealias Place = Int

    private var changes: [Place: [Change]] = [:]

    var isEmpty: Bool { changes.isEmpty }

    /// Takes in a change, and returns how many there are in its database.
    mutating func append(_ change: Change, at place: Place) -> Int {
        changes[place, default: []].append(change)
        return changes[place]?.count ?? 0
    }

    /// Removes and returns the changes in a database, in order; `nil` if there are none.
    mutating func take(_ place: Place) -> [Change]? {
        isEmpty ? nil : changes.removeValue(forKey: place)
    }

    /// Returns the place of the database in a record's name, and true if that database is shared;
    /// `nil` for a name of another form.
    static func place(ofRecord name: ArraySlice<UInt8>) -> (place: Place, isShared: Bool)? {
        // The last part is the id, which may contain slashes. The other parts contain none.
        let parts = name.split(
            separator: UInt8(ascii: "/"),
            maxSplits: 5,
            omittingEmptySubsequences: false
        )
        guard parts.count == 6 else { return nil }
        let isShared = parts[3].elementsEqual(DatabaseScope.shared.name.utf8)
        return (place(parts[0], parts[1], parts[3], parts[4]), isShared)
    }

    /// Returns the place of a database.
    static func place(of database: DatabaseID) -> Place {
        func bytes(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }
        return place(
            bytes(database.container.identifier.escaped),
            bytes(database.environment.rawValue),
            bytes(database.scope.name),
            bytes(database.owner.userRecordName.escaped)
        )
    }

    private static func place(_ parts: ArraySlice<UInt8>...) -> Place {
        var hasher = Hasher()
        for part in parts {
            // The lengths keep the borders between parts, so that different parts with the same
            // bytes in sequence differ.
            hasher.combine(part.count)
            part.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        return hasher.finalize()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// An app's own state that is folded from the commits of a store: a count, a table, an index.
///
/// The store passes every commit to the projection once, in order. The projection saves its
/// position together with its state. So it resumes after any stop, and can be discarded and
/// rebuilt. Zone views and the query index work in the same way.
///
/// Only one task at a time may advance a projection.
public protocol Projection: Sendable {
    /// The database whose commits are folded; `nil` for all databases of the store.
    ///
    /// A record's ID is unique only within one database: two users may both have a record `t1` in a
    /// zone `z`. A projection of all databases must store ``ProjectedCommit/database`` with its
    /// state. Rebuild the projection if this value changes.
    var databaseID: DatabaseID? { get }

    /// Returns the mark of the kept state: that of the last ``take(_:through:)`` that was kept;
    /// `nil` for empty state.
    func mark() async throws -> ProjectionMark?

    /// Folds commits into the state, and saves the mark with it atomically.
    ///
    /// If this throws, the state must be unchanged: the same commits are passed again. `commits`
    /// may be empty if no commit is visible to apps.
    func take(_ commits: [ProjectedCommit], through mark: ProjectionMark) async throws

    /// Empties the state, and forgets the mark: all commits in the log are passed again.
    func reset(_ reason: ProjectionReset) async throws
}

/// One commit, as far as it is about one database.
public struct ProjectedCommit: Hashable, Sendable {
    /// The position of its last event.
    public let position: SequenceNumber
    /// The database that the changes are in.
    public var database: DatabaseID { line.database }
    /// The time, user and database of the commit, and its saves and deletions in order.
    ///
    /// A save has all fields of the record after the save. The end of a zone removes all of the
    /// zone's records, and the line does not list them.
    public let line: ChangeStreamLine
}

/// The position that a projection has reached, and the history that the position belongs to.
///
/// Store it as its ``description``.
public struct ProjectionMark: Hashable, Sendable {
    /// The last position that was folded.
    public let position: SequenceNumber
    /// The horizons when all earlier events were read.
    ///
    /// A compaction that has raised them since may have dropped events that the projection has not
    /// read.
    let forgotten: Forgotten
    let store: String
    let incarnation: Incarnation

    init(position: SequenceNumber, forgotten: Forgotten, store: StoreID, incarnation: Incarnation) {
        self.position = position
        self.forgotten = forgotten
        self.store = store.description
        self.incarnation = incarnation
    }
}

extension ProjectionMark: LosslessStringConvertible {
    /// The store, its incarnation, the position, and the horizons of history and deletions.
    public var description: String {
        "\(store)-\(String(incarnation.rawValue, radix: 16))-\(position)"
            + "-\(forgotten.history)-\(forgotten.tombstones)"
    }

    /// Reads a description back; `nil` for any other text.
    public init?(_ description: String) {
        let parts = description.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].utf8.count == 32,
            let incarnation = UInt64(parts[1], radix: 16), let position = UInt64(parts[2]),
            let history = UInt64(parts[3]), let tombstones = UInt64(parts[4])
        else { return nil }
        forgotten = Forgotten(
            history: SequenceNumber(rawValue: history),
            tombstones: SequenceNumber(rawValue: tombstones)
        )
        store = String(parts[0])
        self.incarnation = Incarnation(rawValue: incarnation)
        self.position = SequenceNumber(rawValue: position)
        // Only the form that `description` writes, so that equal marks have equal texts.
        guard self.description == description else { return nil }
    }
}

extension ProjectionMark: Codable {
    /// Reads a description.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let mark = ProjectionMark(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "This is not the mark of a projection: \(text)"
            )
        }
        self = mark
    }

    /// Writes the description.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// The reason for which a projection restarts.
public enum ProjectionReset: Hashable, Sendable {
    /// A caller requested it.
    case asked
    /// The state is that of another store, or of a line of this one that was cut off: by a restore, or
    /// in the store that this one was forked from.
    case otherHistory
    /// Compaction has dropped events after the mark, including deletions.
    ///
    /// The remaining events are passed again; a projection that counts events counts only the
    /// remaining ones.
    case pruned
}

/// The positions up to which compactions have dropped replaced versions and deletions.
struct Forgotten: Hashable, Sendable {
    var history: SequenceNumber = 0
    var tombstones: SequenceNumber = 0
}

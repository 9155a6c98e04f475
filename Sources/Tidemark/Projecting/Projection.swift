// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// State of an app's own that is folded from what happens in a store: a count, a table, an index.
///
/// The store hands it every commit once, in order, and the projection keeps how far it came together
/// with what it made of it. So it goes on where it was after any stop, and can be thrown away and made
/// again. Zone views and the query index are kept in the same way.
///
/// Only one task at a time may bring a projection forward.
public protocol Projection: Sendable {
    /// The database whose commits are folded; `nil` for all databases of the store.
    ///
    /// A record's ID is unique in one database: two users may both have a record `t1` in a zone `z`. A
    /// projection of all databases keeps ``ProjectedCommit/database`` with what it folds. Rebuild the
    /// projection if this changes.
    var databaseID: DatabaseID? { get }

    /// Returns the mark of the kept state: that of the last ``take(_:through:)`` that was kept;
    /// `nil` for empty state.
    func mark() async throws -> ProjectionMark?

    /// Folds commits into the state, and keeps the mark with it, all or nothing.
    ///
    /// If it throws, the state must be as it was: the same commits come again. `commits` may be empty
    /// where nothing happened that an app may see.
    func take(_ commits: [ProjectedCommit], through mark: ProjectionMark) async throws

    /// Empties the state, and forgets the mark: everything that the log holds comes anew.
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
    /// Everything up to and including this position was taken in.
    public let position: SequenceNumber
    /// The horizons when all earlier events were read.
    ///
    /// A compaction that has raised them since may have dropped events that the projection has not
    /// read.
    let forgotten: Forgotten
    let store: String
    let incarnation: Incarnation

    init(
        position: SequenceNumber,
        forgotten: Forgotten,
        store: StoreID,
        incarnation: Incarnation
    ) {
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

/// Why a projection begins anew.
public enum ProjectionReset: Hashable, Sendable {
    /// Somebody asked for it.
    case asked
    /// The state is that of another store, or of a line of this one that was cut off: by a restore, or
    /// in the store that this one was forked from.
    case otherHistory
    /// Compaction has dropped some of what came after the mark: deletions among it. What is left comes
    /// anew; whoever counts what happened counts only that.
    case pruned
}

/// The positions up to which compactions have dropped replaced versions and deletions.
struct Forgotten: Hashable, Sendable {
    var history: SequenceNumber = 0
    var tombstones: SequenceNumber = 0
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// How many bytes databases take up that have a quota: counted once after an opening, then carried
/// on with what each commit adds and takes away.
///
/// A count is taken while commits go on. It knows the bound up to which it has looked; what commits
/// beyond the bound have added meanwhile is kept beside it, and added at its end.
package struct UsageCounts: Sendable {
    /// More databases than this are not remembered.
    private static let countLimit = 100_000

    private enum Count {
        /// The count is under way; what commits have added since it began, by their last position.
        case begun([(sequence: SequenceNumber, growth: Int)])
        /// The sum, with what is reserved, of a count that looked as far as `bound`.
        case ended(byteCount: Int, bound: SequenceNumber)
    }

    private struct Entry {
        /// Which count it is: a database that is counted again has another.
        var id: UInt64
        var count: Count
    }

    private var entries: [DatabaseID: Entry] = [:]
    private var lastID: UInt64 = 0

    package init() {}

    /// What a commit adds to a database, counted before the commit has its place.
    package struct Reservation: Hashable, Sendable {
        /// The database.
        package var database: DatabaseID
        /// Bytes; negative if there will be fewer.
        package var growth: Int
        /// The count that has it in its sum; zero for none.
        fileprivate var id: UInt64 = 0

        package init(_ database: DatabaseID, growth: Int) {
            self.database = database
            self.growth = growth
        }
    }

    /// What became of a reservation.
    package enum Outcome: Hashable, Sendable {
        case reserved(Reservation)
        /// The sum would be too large; without it there are so many bytes.
        case refused(byteCount: Int)
        /// The database has to be counted first.
        case notCounted
    }

    /// Adds to a database's sum what a commit will add, unless there is more then than a quota
    /// allows; what gets smaller or stays is always allowed.
    package mutating func reserve(_ wanted: Reservation, quota: Int) -> Outcome {
        guard let entry = entries[wanted.database],
            case .ended(let byteCount, let bound) = entry.count
        else { return .notCounted }
        if wanted.growth > 0, byteCount.clampedSum(wanted.growth) > quota {
            return .refused(byteCount: byteCount)
        }
        entries[wanted.database]?.count = .ended(
            byteCount: byteCount.clampedSum(wanted.growth),
            bound: bound
        )
        var reservation = wanted
        reservation.id = entry.id
        return .reserved(reservation)
    }

    /// Takes a reservation back whose commit got no place.
    package mutating func release(_ reservation: Reservation) {
        guard let entry = entries[reservation.database], entry.id == reservation.id,
            case .ended(let byteCount, let bound) = entry.count
        else { return }
        entries[reservation.database]?.count = .ended(
            byteCount: byteCount.clampedSum(-max(reservation.growth, -.max)),
            bound: bound
        )
    }

    /// Takes note that the commit of a reservation, or of what nobody had to reserve, has a place.
    package mutating func settle(_ reservation: Reservation, at sequence: SequenceNumber) {
        guard let entry = entries[reservation.database], entry.id != reservation.id else { return }
        switch entry.count {
        case .begun(let late):
            entries[reservation.database]?.count = .begun(
                late + [(sequence, reservation.growth)]
            )
        case .ended(let byteCount, let bound) where sequence > bound:
            entries[reservation.database]?.count = .ended(
                byteCount: byteCount.clampedSum(reservation.growth),
                bound: bound
            )
        case .ended:
            break
        }
    }

    /// Begins to count a database, or joins whoever does; returns the count's id, `nil` if it was
    /// counted meanwhile.
    package mutating func begin(_ database: DatabaseID) -> UInt64? {
        if let entry = entries[database] {
            if case .ended = entry.count { return nil }
            return entry.id
        }
        if entries.count >= Self.countLimit { entries = [:] }
        lastID += 1
        entries[database] = Entry(id: lastID, count: .begun([]))
        return lastID
    }

    /// Ends a count that looked as far as a bound, unless it was forgotten or ended already.
    package mutating func end(
        _ id: UInt64,
        of database: DatabaseID,
        byteCount: Int,
        bound: SequenceNumber
    ) {
        guard let entry = entries[database], entry.id == id, case .begun(let late) = entry.count
        else { return }
        let missed = late.reduce(0) { $0.clampedSum($1.sequence > bound ? $1.growth : 0) }
        entries[database]?.count = .ended(byteCount: byteCount.clampedSum(missed), bound: bound)
    }

    /// Forgets a database that has to be counted anew.
    package mutating func forget(_ database: DatabaseID) {
        entries[database] = nil
    }
}

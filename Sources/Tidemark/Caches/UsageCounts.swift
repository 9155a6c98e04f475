// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The bytes used by databases that have a quota: counted once after an open, then updated with
/// what each commit adds and removes.
///
/// Commits continue during a count. The count records the position up to which it has read. Changes
/// by commits beyond that position are kept separately, and added when the count ends.
package struct UsageCounts: Sendable {
    /// More databases than this are not remembered.
    private static let countLimit = 100_000

    private enum Count {
        /// The count is running.
        case begun
        /// The sum, including reservations, of a count that read up to `bound`.
        case ended(byteCount: Int, bound: SequenceNumber)
    }

    private struct Entry {
        /// The id of the count.
        ///
        /// A database that is counted again gets a new id.
        var id: UInt64
        var count: Count
        /// The growth by commits since a running count began, by their last position.
        var late: [(sequence: SequenceNumber, growth: Int)] = []
    }

    /// The bytes used by the databases of a container together.
    private struct Sum {
        /// The sum of the counted databases; wider than an `Int`, so that additions can be
        /// subtracted exactly.
        var byteCount: Int128 = 0
        /// The databases that are not counted.
        var uncounted: Set<DatabaseID> = []
    }

    private var entries: [DatabaseID: Entry] = [:]
    /// By container; of those alone that have a quota.
    private var sums: [ContainerID: Sum] = [:]
    private var lastID: UInt64 = 0
    /// Those who wait for running counts, by the count's id: a count that is forgotten still ends.
    private var waiting: [UInt64: [CheckedContinuation<Void, Never>]] = [:]

    package init() {}

    /// The bytes that a commit adds to a database, reserved before the commit has its position.
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

    /// The result of a reservation.
    package enum Outcome: Hashable, Sendable {
        case reserved(Reservation)
        /// The sum would exceed the quota; `byteCount` is the sum without the reservation.
        case refused(byteCount: Int)
        /// The database has to be counted first.
        case notCounted
        /// The container would exceed its quota; `byteCount` is the sum without the reservation.
        case refusedByContainer(byteCount: Int)
        /// The databases of the container have to be listed first.
        case notListed
        /// These databases of the container have to be counted first.
        case othersNotCounted(Set<DatabaseID>)
    }

    /// Reserves the bytes that a commit adds to a database, unless the sum would exceed a quota.
    ///
    /// A change that does not grow the database is always allowed.
    package mutating func reserve(
        _ wanted: Reservation,
        quota: Int,
        containerQuota: Int? = nil
    ) -> Outcome {
        guard let entry = entries[wanted.database],
            case .ended(let byteCount, let bound) = entry.count
        else { return .notCounted }
        // A database may be above its quota, because the quota was lowered or an import was not
        // limited. Changes that do not grow it must still succeed, so that it can shrink.
        if wanted.growth > 0, byteCount.clampedSum(wanted.growth) > quota {
            return .refused(byteCount: byteCount)
        }
        if let containerQuota {
            guard let sum = sums[wanted.database.container] else { return .notListed }
            guard sum.uncounted.isEmpty else { return .othersNotCounted(sum.uncounted) }
            if wanted.growth > 0, sum.byteCount + Int128(wanted.growth) > Int128(containerQuota) {
                return .refusedByContainer(byteCount: Int(clamping: sum.byteCount))
            }
        }
        set(byteCount.clampedSum(wanted.growth), instead: byteCount, bound, wanted.database)
        var reservation = wanted
        reservation.id = entry.id
        return .reserved(reservation)
    }

    /// Takes a reservation back whose commit got no place.
    package mutating func release(_ reservation: Reservation) {
        guard let entry = entries[reservation.database], entry.id == reservation.id,
            case .ended(let byteCount, let bound) = entry.count
        else { return }
        // The growth can be `Int.min` after clamped sums, and negating that value would trap.
        let less = byteCount.clampedSum(-max(reservation.growth, -.max))
        set(less, instead: byteCount, bound, reservation.database)
    }

    /// Records that the commit of a reservation, or of a change that needed none, has a position.
    package mutating func settle(_ reservation: Reservation, at sequence: SequenceNumber) {
        let database = reservation.database
        // The database was never counted, as for an import, or was forgotten since. The container's
        // sum is unknown until it is counted.
        guard let entry = entries[database] else {
            sums[database.container]?.uncounted.insert(database)
            return
        }
        // The sum has included these bytes since the reservation.
        guard entry.id != reservation.id else { return }
        switch entry.count {
        case .begun:
            entries[database]?.late.append((sequence, reservation.growth))
        // A count that read up to this position or beyond has included the commit already.
        case .ended(let byteCount, let bound) where sequence > bound:
            set(byteCount.clampedSum(reservation.growth), instead: byteCount, bound, database)
        case .ended:
            break
        }
    }

    /// Changes a database's sum, and its container's.
    private mutating func set(
        _ byteCount: Int,
        instead before: Int,
        _ bound: SequenceNumber,
        _ database: DatabaseID
    ) {
        entries[database]?.count = .ended(byteCount: byteCount, bound: bound)
        sums[database.container]?.byteCount += Int128(byteCount) - Int128(before)
    }

    /// Begins the sum of a container with its known databases.
    package mutating func list(_ databases: [DatabaseID], of container: ContainerID) {
        guard sums[container] == nil else { return }
        var sum = Sum(uncounted: Set(databases))
        for (database, entry) in entries where database.container == container {
            if case .ended(let byteCount, _) = entry.count {
                sum.byteCount += Int128(byteCount)
                sum.uncounted.remove(database)
            } else {
                sum.uncounted.insert(database)
            }
        }
        sums[container] = sum
    }

    /// Begins to count a database; returns the count's id, `nil` if the database is being counted or
    /// has been counted meanwhile.
    ///
    /// The caller calls ``end(_:of:byteCount:bound:)`` or ``abandon(_:of:)`` with the id.
    package mutating func begin(_ database: DatabaseID) -> UInt64? {
        if entries[database] != nil { return nil }
        // The sum of a container stands for as long as all of its databases are remembered.
        if entries.count >= Self.countLimit, sums.isEmpty { entries = [:] }
        lastID += 1
        entries[database] = Entry(id: lastID, count: .begun)
        return lastID
    }

    /// Waits for the end of a running count, whatever its outcome; returns false if there is none.
    package mutating func wait(
        for database: DatabaseID,
        _ continuation: CheckedContinuation<Void, Never>
    ) -> Bool {
        guard let entry = entries[database], case .begun = entry.count else { return false }
        waiting[entry.id, default: []].append(continuation)
        return true
    }

    /// Ends a count that failed; returns those who waited for it.
    package mutating func abandon(
        _ id: UInt64,
        of database: DatabaseID
    ) -> [CheckedContinuation<Void, Never>] {
        if entries[database]?.id == id { entries[database] = nil }
        return waiting.removeValue(forKey: id) ?? []
    }

    /// Ends a count that looked as far as a bound; returns those who waited for it.
    ///
    /// It has no effect on the sums if the database was forgotten meanwhile.
    package mutating func end(
        _ id: UInt64,
        of database: DatabaseID,
        byteCount: Int,
        bound: SequenceNumber
    ) -> [CheckedContinuation<Void, Never>] {
        take(id, of: database, byteCount: byteCount, bound: bound)
        return waiting.removeValue(forKey: id) ?? []
    }

    private mutating func take(
        _ id: UInt64,
        of database: DatabaseID,
        byteCount: Int,
        bound: SequenceNumber
    ) {
        // The id differs if the database was forgotten and counted again during this count. Its
        // commits were then reported to the other count.
        guard let entry = entries[database], entry.id == id, case .begun = entry.count else {
            return
        }
        // Commits up to `bound` were read by the count itself; adding them again would count them
        // twice.
        let missed = entry.late.reduce(0) { $0.clampedSum($1.sequence > bound ? $1.growth : 0) }
        entries[database]?.late = []
        set(byteCount.clampedSum(missed), instead: 0, bound, database)
        sums[database.container]?.uncounted.remove(database)
    }

    /// Forgets a database that must be counted again.
    package mutating func forget(_ database: DatabaseID) {
        if case .ended(let byteCount, _)? = entries[database]?.count {
            sums[database.container]?.byteCount -= Int128(byteCount)
        }
        entries[database] = nil
        sums[database.container]?.uncounted.insert(database)
    }

    /// Forgets everything, because commits were made that were not reported to it.
    package mutating func forgetAll() {
        entries = [:]
        sums = [:]
    }
}

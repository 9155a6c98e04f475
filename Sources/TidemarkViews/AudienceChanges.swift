// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
import TidemarkModel

/// The changes of audiences in one stretch of the log, searchable by record.
package struct AudienceChanges: Sendable {
    /// The changes in log order.
    package private(set) var changes: [AudienceChange] = []
    private var indexes: [ViewKey: [UInt32]] = [:]

    /// The position of the last change; zero if there is none.
    package var lastSequence: SequenceNumber { changes.last?.sequence ?? 0 }

    /// Adds a change.
    package mutating func append(_ change: AudienceChange) {
        indexes[change.record, default: []].append(UInt32(truncatingIfNeeded: changes.count))
        changes.append(change)
    }

    /// Returns the audience that a record has at a bound, zero for none; `nil` if this stretch has
    /// no change of the record.
    package func audience(of record: ViewKey, through bound: SequenceNumber) -> ZoneKey? {
        guard let indexes = indexes[record] else { return nil }
        // From the end: a bound is usually behind all changes, or before a few that are not durable
        // yet.
        let last = indexes.last { changes[Int($0)].sequence <= bound }
        return last.map { changes[Int($0)].audience }
    }
}

extension ViewPicture {
    /// Returns the audience of the share that a record is under; `nil` if the record is under none.
    ///
    /// An ended share leaves its audience in place.
    package func audience(of record: ViewKey) throws(ViewIndexError) -> ZoneKey? {
        let bound = bound
        let overlaid =
            withCurrent { $0.audiences.audience(of: record, through: bound) }
            ?? withFrozen { $0.audiences.audience(of: record, through: bound) }
        if let overlaid { return overlaid == 0 ? nil : overlaid }
        guard case .word(let key, _) = try snapshot.value(in: .audiences, for: record) else {
            return nil
        }
        return ZoneKey(rawValue: key)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// Tests for entries that concern a user or a zone that is being erased.
extension JournalEntry.Content {
    /// Returns true if the entry mentions a user: as the caller, as the owner of a requested item,
    /// in a name, or in the text of a rejection.
    ///
    /// It may return true for an unrelated entry, but never false for a related one.
    package func concerns(_ user: UserID) -> Bool {
        guard let caller else { return false }
        let name = Array(user.userRecordName.utf8)
        func isNamed(in text: String) -> Bool { Array(text.utf8).span.bytes.contains(name) }
        if caller.user == user || caller.database.owner == user { return true }
        switch self {
        case .began, .ended: return false
        case .told(let told): return told.zone?.owner == user.name
        case .refused(let refused):
            return refused.refusals.contains { refusal in
                isNamed(in: refusal.message) || refusal.item?.zone?.owner == user.name
                    || refusal.item.map { isNamed(in: $0.name) } ?? false
            }
        }
    }

    /// Returns true if the entry mentions a zone.
    package func concerns(_ zone: ZoneIdentity) -> Bool {
        guard let caller else { return false }
        func isMeant(_ id: ZoneID?) -> Bool {
            id.map { zone.isNamed($0, in: caller.database) } ?? false
        }
        switch self {
        case .began, .ended: return false
        case .told(let told): return isMeant(told.zone)
        case .refused(let refused): return refused.refusals.contains { isMeant($0.item?.zone) }
        }
    }

    /// Returns true if the entry is about a request to a database, or to the part of it that shares
    /// show.
    func isAbout(_ database: DatabaseID) -> Bool {
        guard let asked = caller?.database else { return false }
        return asked == database
            || asked.scope == .shared && asked.container == database.container
                && asked.environment == database.environment
    }
}

extension SyncError.Item {
    /// The zone that it is, or is in.
    package var zone: ZoneID? {
        switch self {
        case .record(let record): record.zone
        case .zone(let zone): zone
        case .subscription: nil
        }
    }

    /// The name of the item.
    fileprivate var name: String {
        switch self {
        case .record(let record): record.recordName
        case .zone(let zone): zone.zoneName
        case .subscription(let id): id
        }
    }
}

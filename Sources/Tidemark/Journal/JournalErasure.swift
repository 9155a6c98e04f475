// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// Which entries have to do with a user or a zone that is erased.
extension JournalEntry.Content {
    /// Whether the entry says anything about a user: as the caller, as the owner of what was asked for, in
    /// a name or in the words of a refusal.
    ///
    /// Rather too often than too seldom.
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

    /// Whether the entry says anything about a zone.
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

    /// Whether the entry is about something asked of a database, or of what shares show of it.
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

    /// What it is called.
    fileprivate var name: String {
        switch self {
        case .record(let record): record.recordName
        case .zone(let zone): zone.zoneName
        case .subscription(let id): id
        }
    }
}

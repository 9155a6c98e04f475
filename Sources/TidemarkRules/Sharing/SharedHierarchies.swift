// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The commit's change of one record that it names.
enum PlannedChange: Sendable {
    /// The record is saved; the save replaces a version or creates the record.
    case save(RecordSave, over: RecordBody?)
    /// The record is deleted.
    case delete
    /// The record is unchanged.
    case nothing
}

/// The effects of sharing on a commit: shares that begin, change and end, and records that join or
/// leave a share.
///
/// A record is under a share if it is the share's root, or its parent is under the share. From a
/// record to the top of its tree, there is at most one share.
///
/// A class, because nearly every commit asks several times whether it has one, and a copy of some
/// twenty collections is made for each answer otherwise.
final class SharedHierarchies {
    /// A record that the commit does not name but must change because of a share.
    struct Implied {
        var item: ConsultedItem
        /// The save; `nil` to delete the record.
        var save: RecordSave?
        var link = ShareLink.unchanged
    }

    /// A record that changes its audience but not its content.
    struct Move {
        var item: ConsultedItem
        var from: AudienceRef
        var to: AudienceRef
    }

    /// The audiences of a record before and after the commit.
    struct Passage {
        var from: AudienceRef
        var to: AudienceRef
    }

    /// The audiences of each item that involves shares.
    var passages: [Int: Passage] = [:]
    /// The change of the share of each root that the commit names.
    var links: [Int: ShareLink] = [:]
    /// The complete fields of saved shares.
    var fields: [Int: Fields] = [:]
    /// The saves of share records that replace deletions, where a participant leaves a share.
    var leaves: [Int: RecordSave] = [:]
    /// The changed records that the commit does not name, each with its audiences.
    var implied: [(change: Implied, passage: Passage)] = []
    /// The records that only change their audience.
    var moves: [Move] = []
    /// The shares that begin: the place and token of each.
    var begun: [(place: RecordPlace, token: String)] = []
    /// The audiences of shares that end.
    var ended: [ZoneKey] = []
    /// The shares that a line of an import saves before their roots exist.
    var rootless: [(root: RecordPlace, share: Name)] = []
    /// The shares that an import saved before their roots, by roots that the commit saves; those
    /// still waiting begin with it.
    var waiting: [RecordPlace: Name] = [:]
    /// The changes of links and participations.
    var consequences = SystemChange(zone: .shares)

    let items: [ConsultedItem]
    /// The index of the first cascaded deletion, which the request does not name.
    private let cascadeStart: Int
    let changes: [PlannedChange]
    let zones: ConsultedZones
    /// The updates of shares; `nil` for an import, whose lines contain the links and
    /// participations.
    let shares: ShareUpdates?
    let named: [RecordPlace: Int]
    var neighbours: Neighbours
    var audiences: Audiences
    /// The known audiences of records after the commit.
    var settled: [RecordPlace: AudienceRef] = [:]
    /// The cached result of `itemsByParent()`.
    var knownItemsByParent: [RecordPlace: [Int]]?
    /// The cached result of `treesMove()`.
    var knownToMoveTrees: Bool?
    /// The changes of shares, by the place of the root.
    var linkByRoot: [RecordPlace: ShareLink] = [:]
    var refusals: [Int: SyncError] = [:]

    /// Returns true if a commit may involve shares.
    ///
    /// O(1) for a record without a parent.
    static func concern(_ items: [ConsultedItem], _ changes: [PlannedChange]) -> Bool {
        zip(items, changes).contains { item, change in
            switch change {
            case .save(let save, let old):
                // A record that neither has nor gets a parent, and is no root, cannot be under a
                // share. So most saves end at the next line.
                if save.hasToDoWithShares { return true }
                if let old { return old.hasToDoWithShares }
                // A record that an import begins anew leaves the audience of its previous version.
                return item.liveBody?.hasToDoWithShares ?? false
            case .delete:
                return item.liveBody?.hasToDoWithShares ?? false
            case .nothing:
                return false
            }
        }
    }

    init(
        _ items: [ConsultedItem],
        _ changes: [PlannedChange],
        cascadeCount: Int = 0,
        in zones: ConsultedZones,
        by shares: ShareUpdates?,
        _ neighbours: Neighbours,
        _ audiences: Audiences
    ) {
        self.items = items
        cascadeStart = items.count - cascadeCount
        self.changes = changes
        self.zones = zones
        self.shares = shares
        self.neighbours = neighbours
        self.audiences = audiences
        var named: [RecordPlace: Int] = [:]
        // If a rejected item names a cascaded record, the cascaded one comes later and counts.
        for (index, item) in items.enumerated() { named[RecordPlace(item)] = index }
        self.named = named
    }

    /// The additional records that were read; the plan depends on them.
    var consulted: Neighbours { neighbours }

    /// Applies the rules; returns the errors of invalid items.
    func settle() throws(SyncError) -> [Int: SyncError] {
        for index in items.indices {
            switch changes[index] {
            case .save(let save, let old):
                try settleSave(index, save, over: old)
            case .delete:
                try settleDeletion(index)
            case .nothing:
                break
            }
        }
        // The audiences depend on all items. The caller rejects these and applies the rules again.
        if !refusals.isEmpty { return refusals }
        if !waiting.isEmpty { try beginWaiting() }
        try settleAudiences()
        return refusals
    }

    /// Returns true if the commit changes an item.
    func isChanged(_ index: Int) -> Bool {
        if case .nothing = changes[index] { false } else { true }
    }

    /// Returns true if an item is deleted because of another one.
    func isCascaded(_ index: Int) -> Bool { index >= cascadeStart }

    func place(_ name: Name, beside index: Int) -> RecordPlace {
        RecordPlace(zone: items[index].zone, name: name)
    }

    /// Returns a participant's access to the zone of an item; `nil` for the zone's owner.
    func access(_ index: Int) -> ZoneAccess? { zones.access(of: items[index].zone) }

    func recordID(_ index: Int) -> RecordID {
        RecordID(recordName: items[index].name.string, zone: zones[items[index].zone].zone)
    }
}

extension SyncError {
    /// Returns the error for a participant who deletes the root of a share.
    static func rootIsItsOwners(_ record: RecordID) -> SyncError {
        .permissionFailure(
            "The record \(record) is the root of a share, which only its owner can delete."
        )
    }

    /// The error for a participant whose deletion cascades to the owner's records.
    static let cascadesToTheOwners = SyncError.permissionFailure(
        "Deleting this record would also delete a share or the root of a share, which only its "
            + "owner can delete."
    )

    /// Returns the error for a record that is under a share already, or has one below it.
    static func alreadyShared(_ record: RecordID, by other: Name) -> SyncError {
        SyncError(
            .alreadyShared,
            "The record \(record) is shared already, or something above or below it is: \(other)."
        )
    }
}

extension RecordSave {
    /// True if the save may change the audience of its record.
    var hasToDoWithShares: Bool { parent.isSet || boxedShare.hasContent || isShare }
}

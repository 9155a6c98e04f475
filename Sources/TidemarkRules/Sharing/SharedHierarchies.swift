// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// What a commit does to one record that it names.
package enum PlannedChange: Sendable {
    /// It is saved, over a version of it or over nothing.
    case save(RecordSave, over: StoredRecord?)
    /// It is deleted.
    case delete
    /// Nothing.
    case nothing
}

/// What sharing means for a commit: which shares begin, change and end, and which records come
/// under a share or leave one.
///
/// A record is under a share if it is the share's root, or its parent is under it. At most one
/// share is on the way from a record to the top of its tree.
package struct SharedHierarchies {
    /// A record that the commit has to change because of a share, and does not name.
    package struct Implied {
        package var item: ConsultedItem
        /// `nil` deletes it.
        package var save: RecordSave?
        package var link = ShareLink.unchanged
    }

    /// A record that changes its audience and is not changed itself.
    package struct Move {
        package var item: ConsultedItem
        package var from: AudienceRef
        package var to: AudienceRef
    }

    /// What a record of the commit was under before, and is after.
    package struct Passage {
        package var from: AudienceRef
        package var to: AudienceRef
    }

    /// For each item that has to do with shares, what it is under.
    package internal(set) var passages: [Int: Passage] = [:]
    /// For each root that the commit names, what becomes of its share.
    package internal(set) var links: [Int: ShareLink] = [:]
    /// The complete fields of shares that are saved.
    package internal(set) var fields: [Int: Fields] = [:]
    /// Deletions that stand for leaving a share: what its record is instead.
    package internal(set) var leaves: [Int: RecordSave] = [:]
    /// Records that are changed beside those that the commit names, each with what it is under.
    package internal(set) var implied: [(change: Implied, passage: Passage)] = []
    /// Records that change their audience alone.
    package internal(set) var moves: [Move] = []
    /// The shares of records that begin: the place of each one's record, and its token.
    package internal(set) var begun: [(place: RecordPlace, token: String)] = []
    /// The audiences of shares that end.
    package internal(set) var ended: [ZoneKey] = []
    /// Shares that a line of an import saves before their roots are there.
    package internal(set) var rootless: [(root: RecordPlace, share: Name)] = []
    /// Shares that an import saved before their roots, by roots that the commit saves; those that
    /// still wait begin with it.
    package var waiting: [RecordPlace: Name] = [:]
    /// What becomes of links and participations.
    package internal(set) var consequences = SystemChange(zone: .shares)

    package let items: [ConsultedItem]
    /// Those from here on are not named: they go with what is deleted.
    private let cascadeStart: Int
    package let changes: [PlannedChange]
    package let zones: ConsultedZones
    /// `nil` for an import, which says itself what becomes of links and participations.
    package let shares: ShareUpdates?
    package let named: [RecordPlace: Int]
    package var neighbours: Neighbours
    package var audiences: Audiences
    /// What a record is under once the commit is done, where that is known.
    package var settled: [RecordPlace: AudienceRef] = [:]
    /// Whether trees may move, once it has been asked.
    var knownToMoveTrees: Bool?
    /// What becomes of the shares of roots, by the root's place.
    var linkByRoot: [RecordPlace: ShareLink] = [:]
    package var refusals: [Int: SyncError] = [:]

    /// Whether a commit may have to do with shares.
    ///
    /// O(1) for a record without a parent.
    package static func concern(_ items: [ConsultedItem], _ changes: [PlannedChange]) -> Bool {
        zip(items, changes).contains { item, change in
            switch change {
            case .save(let save, let old):
                if save.hasToDoWithShares { return true }
                if let old { return old.bodyReadBefore.hasToDoWithShares }
                // A record that an import begins anew leaves what its version before was under.
                return (try? item.live?.body().hasToDoWithShares) ?? false
            case .delete:
                return (try? item.live?.body().hasToDoWithShares) ?? false
            case .nothing:
                return false
            }
        }
    }

    package init(
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
        for (index, item) in items.enumerated() { named[RecordPlace(item)] = index }
        self.named = named
    }

    /// What else was looked at; the plan rests on it.
    package var consulted: Neighbours { neighbours }

    /// Decides; returns the items that cannot be, and why.
    package mutating func settle() throws(SyncError) -> [Int: SyncError] {
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
        if !refusals.isEmpty { return refusals }
        if !waiting.isEmpty { try beginWaiting() }
        try settleAudiences()
        return refusals
    }

    /// Whether the commit changes an item.
    package func isChanged(_ index: Int) -> Bool {
        if case .nothing = changes[index] { false } else { true }
    }

    /// Whether an item is deleted because of another one.
    func isCascaded(_ index: Int) -> Bool { index >= cascadeStart }

    package func place(_ name: Name, beside index: Int) -> RecordPlace {
        RecordPlace(zone: items[index].zone, name: name)
    }

    package func key(of place: RecordPlace) -> ZoneKey { zones.key(of: place.zone) ?? 0 }

    /// The access of a participant to the zone of an item; `nil` for the zone's owner.
    package func access(_ index: Int) -> ZoneAccess? { zones.access(of: items[index].zone) }

    package func recordID(_ index: Int) -> RecordID {
        RecordID(recordName: items[index].name.string, zone: zones[items[index].zone].zone)
    }
}

extension SyncError {
    /// A participant would delete the root of a share.
    static func rootIsItsOwners(_ record: RecordID) -> SyncError {
        .permissionFailure(
            "The record \(record) is the root of a share, which its owner alone can delete."
        )
    }

    /// A participant would delete something of the owner's without having named it.
    static let cascadesToTheOwners = SyncError.permissionFailure(
        "With this record others would be deleted that its owner alone can delete: the root of a share, "
            + "or a share."
    )

    /// A record is under a share already, or has one below it.
    package static func alreadyShared(_ record: RecordID, by other: Name) -> SyncError {
        SyncError(
            .alreadyShared,
            "The record \(record) is shared already, or something above or below it is: \(other)."
        )
    }
}

extension RecordSave {
    /// Whether the save may change what its record is under.
    package var hasToDoWithShares: Bool { parent.isSet || boxedShare.hasContent || isShare }
}

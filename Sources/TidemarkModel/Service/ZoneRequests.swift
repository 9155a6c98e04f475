// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A zone of a database.
public struct Zone: Hashable, Codable, Sendable {
    /// The operations that a zone supports.
    ///
    /// Raw values are CloudKit's.
    public struct Capabilities: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt

        /// Wraps bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Changes can be fetched by token.
        public static let fetchChanges = Capabilities(rawValue: 1)
        /// Requests can be all or nothing.
        public static let atomic = Capabilities(rawValue: 2)
        /// Records can be shared with their descendants.
        public static let sharing = Capabilities(rawValue: 4)
        /// The zone can be shared as a whole.
        public static let zoneWideSharing = Capabilities(rawValue: 8)
    }

    /// The zone's identity.
    public let zoneID: ZoneID
    /// The operations that the zone supports.
    public let capabilities: Capabilities

    /// Creates a zone.
    public init(zoneID: ZoneID, capabilities: Capabilities) {
        self.zoneID = zoneID
        self.capabilities = capabilities
    }
}

/// Zones to create and to delete.
///
/// Each zone is done independently; creating one that exists succeeds.
public struct ModifyZonesRequest: Hashable, Codable, Sendable {
    /// Zones to create.
    public var saves: [ZoneID]
    /// Zones to delete, with all that is in them.
    public var deletions: [ZoneID]
    /// The reason for the deletion, which clients receive.
    public var deletionReason: ZoneDeletionReason

    /// Creates a request.
    public init(
        saves: [ZoneID] = [],
        deletions: [ZoneID] = [],
        deletionReason: ZoneDeletionReason = .deleted
    ) {
        self.saves = saves
        self.deletions = deletions
        self.deletionReason = deletionReason
    }
}

/// The results of each zone of a request, in its order.
public struct ModifyZonesResult: Hashable, Sendable {
    /// For each zone to create the zone, or why it was not created.
    public var saves: [Result<Zone, SyncError>]
    /// For each zone to delete its identity, or why it was not deleted.
    public var deletions: [Result<ZoneID, SyncError>]

    /// Collects outcomes.
    public init(saves: [Result<Zone, SyncError>], deletions: [Result<ZoneID, SyncError>]) {
        self.saves = saves
        self.deletions = deletions
    }
}

extension ModifyZonesResult {
    /// Returns the error that CloudKit's operations throw if items failed; `nil` if all were done.
    ///
    /// It is `partialFailure` with the error of each item, first of saves, then of deletions.
    /// `request` is the request of this result.
    public func partialFailure(of request: ModifyZonesRequest) -> SyncError? {
        var errors: [SyncError.ItemError] = []
        errors.add(request.saves.map { .zone($0) }, saves)
        errors.add(request.deletions.map { .zone($0) }, deletions)
        return .partialFailure(errors)
    }
}

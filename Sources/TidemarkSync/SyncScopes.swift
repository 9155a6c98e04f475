// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The zones that a fetch includes.
public enum FetchScope: Hashable, Sendable {
    /// Every zone.
    case all
    /// Every zone but some.
    case allExcluding([ZoneID])
    /// Some zones.
    case zones([ZoneID])

    /// Returns true if the scope includes a zone.
    public func contains(_ zone: ZoneID) -> Bool {
        switch self {
        case .all: true
        case .allExcluding(let zones): !zones.contains(zone)
        case .zones(let zones): zones.contains(zone)
        }
    }
}

/// The changes that a send operation includes.
public enum SendScope: Hashable, Sendable {
    /// Every change.
    case all
    /// All changes except those in some zones.
    case allExcluding([ZoneID])
    /// Changes in some zones.
    case zones([ZoneID])
    /// Changes of some records.
    case records([RecordID])

    /// Returns true if the scope includes changes of a record.
    public func contains(_ record: RecordID) -> Bool {
        switch self {
        case .all: true
        case .allExcluding(let zones): !zones.contains(record.zone)
        case .zones(let zones): zones.contains(record.zone)
        case .records(let records): records.contains(record)
        }
    }

    /// Returns true if the scope includes creating or deleting a zone.
    ///
    /// A scope of records includes the zones of its records.
    public func contains(_ zone: ZoneID) -> Bool {
        switch self {
        case .all: true
        case .allExcluding(let zones): !zones.contains(zone)
        case .zones(let zones): zones.contains(zone)
        case .records(let records): records.contains { $0.zone == zone }
        }
    }
}

/// The reason why a sync loop fetches or sends.
public enum SyncReason: Hashable, Sendable {
    /// The loop itself found that it is time.
    case scheduled
    /// Requested by the app.
    case manual
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// Which zones a fetch is about.
public enum FetchScope: Hashable, Sendable {
    /// Every zone.
    case all
    /// Every zone but some.
    case allExcluding([ZoneID])
    /// Some zones.
    case zones([ZoneID])

    /// Whether a zone is among them.
    public func contains(_ zone: ZoneID) -> Bool {
        switch self {
        case .all: true
        case .allExcluding(let zones): !zones.contains(zone)
        case .zones(let zones): zones.contains(zone)
        }
    }
}

/// Which changes a sending is about.
public enum SendScope: Hashable, Sendable {
    /// Every change.
    case all
    /// Every change but those in some zones.
    case allExcluding([ZoneID])
    /// Changes in some zones.
    case zones([ZoneID])
    /// Changes of some records.
    case records([RecordID])

    /// Whether changes of a record are among them.
    public func contains(_ record: RecordID) -> Bool {
        switch self {
        case .all: true
        case .allExcluding(let zones): !zones.contains(record.zone)
        case .zones(let zones): zones.contains(record.zone)
        case .records(let records): records.contains(record)
        }
    }

    /// Whether making or removing a zone is among them; it is where a record of the zone is.
    public func contains(_ zone: ZoneID) -> Bool {
        switch self {
        case .all: true
        case .allExcluding(let zones): !zones.contains(zone)
        case .zones(let zones): zones.contains(zone)
        case .records(let records): records.contains { $0.zone == zone }
        }
    }
}

/// Why a sync loop fetches or sends.
public enum SyncReason: Hashable, Sendable {
    /// The loop itself found that it is time.
    case scheduled
    /// The app asked for it.
    case manual
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkSync

extension CKSyncEngine {
    /// The reason why an engine fetches or sends.
    public enum SyncReason: Int, Hashable, Sendable {
        /// The engine found that it is time.
        case scheduled = 0
        /// Requested by the app.
        case manual = 1

        init(_ reason: TidemarkSync.SyncReason) {
            self =
                switch reason {
                case .scheduled: .scheduled
                case .manual: .manual
                }
        }
    }

    /// The zones to fetch, and their order.
    public struct FetchChangesOptions: Sendable {
        /// The zones to fetch.
        public enum Scope: Hashable, Sendable {
            /// Every zone.
            case all
            /// Every zone but some.
            case allExcluding([CKRecordZone.ID])
            /// Some zones.
            case zoneIDs([CKRecordZone.ID])

            /// Returns true if a zone is fetched.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                model.contains(zoneID.model)
            }

            var model: FetchScope {
                switch self {
                case .all: .all
                case .allExcluding(let zones): .allExcluding(zones.map(\.model))
                case .zoneIDs(let zones): .zones(zones.map(\.model))
                }
            }

            init(_ model: FetchScope) {
                self =
                    switch model {
                    case .all: .all
                    case .allExcluding(let zones): .allExcluding(zones.map { .init($0) })
                    case .zones(let zones): .zoneIDs(zones.map { .init($0) })
                    }
            }
        }

        /// The zones to fetch.
        public var scope: Scope
        /// The group of the operations that fetch.
        public var operationGroup: CKOperationGroup
        /// The zones to fetch before others.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []

        /// Creates the options of a fetch.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }
    }

    /// The changes to send.
    public struct SendChangesOptions: Sendable {
        /// The changes to send.
        public enum Scope: Hashable, Sendable {
            /// Every change.
            case all
            /// All changes except those in some zones.
            case allExcluding([CKRecordZone.ID])
            /// Changes in some zones.
            case zoneIDs([CKRecordZone.ID])
            /// Changes of some records.
            case recordIDs([CKRecord.ID])

            /// Returns true if changes of a record are sent.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                model.contains(recordID.model)
            }

            /// Returns true if a change is sent.
            public func contains(_ pendingChange: PendingRecordZoneChange) -> Bool {
                model.contains(pendingChange.model.id)
            }

            var model: SendScope {
                switch self {
                case .all: .all
                case .allExcluding(let zones): .allExcluding(zones.map(\.model))
                case .zoneIDs(let zones): .zones(zones.map(\.model))
                case .recordIDs(let records): .records(records.map(\.model))
                }
            }

            init(_ model: SendScope) {
                self =
                    switch model {
                    case .all: .all
                    case .allExcluding(let zones): .allExcluding(zones.map { .init($0) })
                    case .zones(let zones): .zoneIDs(zones.map { .init($0) })
                    case .records(let records): .recordIDs(records.map { .init($0) })
                    }
            }
        }

        /// The changes to send.
        public var scope: Scope
        /// The group of the operations that send.
        public var operationGroup: CKOperationGroup

        /// Creates options.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }
    }

    /// The reason and the scope of a fetch.
    public struct FetchChangesContext: Sendable {
        /// The reason.
        public let reason: SyncReason
        /// The scope of the fetch.
        public let options: FetchChangesOptions
    }

    /// The reason and the scope of a send operation.
    public struct SendChangesContext: Sendable {
        /// The reason.
        public let reason: SyncReason
        /// The scope of the send operation.
        public let options: SendChangesOptions
    }
}

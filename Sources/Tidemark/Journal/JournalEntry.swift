// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// What was asked of a store, and answered, as far as the log does not say it: `Docs/journal.md`.
public struct JournalEntry: Hashable, Codable, Sendable {
    /// When, by the store's own clock, in milliseconds since 1970.
    public var time: Int64
    /// How many entries before it are lost because they could not be written.
    public var lostCount: Int
    /// What happened.
    public var content: Content

    /// What happened.
    public enum Content: Hashable, Codable, Sendable {
        /// The store was opened for writing, and the journal holds so much from here on.
        case began(StoreOptions.Journal)
        /// The store was closed.
        case ended
        /// A call, or items of it, were refused.
        case refused(Refused)
        /// A device was told what changed.
        case told(Told)

        /// Who asked; `nil` for what the store notes of itself.
        public var caller: Caller? {
            switch self {
            case .began, .ended: nil
            case .refused(let refused): refused.caller
            case .told(let told): told.caller
            }
        }
    }

    /// What a client asked for.
    ///
    /// Raw values are on disk: never renumber them.
    public enum Call: UInt8, Hashable, CaseIterable, Codable, Sendable {
        /// To save and delete records.
        case modifyRecords = 1
        /// To fetch records.
        case fetchRecords = 2
        /// What changed in a zone.
        case zoneChanges = 3
        /// Which zones changed.
        case databaseChanges = 4
        /// To create and delete zones.
        case modifyZones = 5
        /// Which zones there are.
        case zones = 6
        /// To find records.
        case query = 7
        /// To send, find or fetch assets.
        case assets = 8
        /// About users and accounts.
        case users = 9
        /// To accept a share, look at it or ask for access.
        case shares = 10
        /// To save, delete and list subscriptions.
        case subscriptions = 11
        /// To fetch notifications and mark them as read.
        case notifications = 12
    }

    /// One thing that was refused, and why.
    public struct Refusal: Hashable, Codable, Sendable {
        /// What it is about; `nil` for the call as a whole.
        public var item: SyncError.Item?
        /// CloudKit's code.
        public var code: SyncError.Code
        /// The rule, in the words that the caller was told.
        ///
        /// Empty where the call as a whole is the reason, or in an atomic batch another item of it.
        public var message: String

        /// Describes a refusal.
        public init(_ item: SyncError.Item?, _ code: SyncError.Code, _ message: String) {
            self.item = item
            self.code = code
            self.message = message
        }
    }

    /// What of a call was refused.
    public struct Refused: Hashable, Codable, Sendable {
        /// What was asked for.
        public var call: Call
        /// By whom, from where, under which request id.
        public var caller: Caller
        /// The change token that the call came with.
        public var since: ChangeToken?
        /// What was refused; first the call as a whole, if it was.
        public var refusals: [Refusal]
        /// How many more items were refused, which one entry has no room for.
        public var omittedCount = 0

        /// Describes what was refused.
        public init(
            _ call: Call,
            _ caller: Caller,
            since: ChangeToken? = nil,
            _ refusals: [Refusal]
        ) {
            self.call = call
            self.caller = caller
            self.since = since
            self.refusals = refusals
        }
    }

    /// A page of changes that a device was given.
    ///
    /// It comes with a token up to which the device has been told, and says with which it came: by that
    /// the device acknowledged all that it was told before.
    public struct Told: Hashable, Codable, Sendable {
        /// Changes of a zone, of a database, or notifications.
        public var call: Call
        /// Who was told.
        public var caller: Caller
        /// The zone, as the caller names it; `nil` for the zones of a database, and for notifications.
        public var zone: ZoneID?
        /// The token that the device came with: what it covers was acknowledged.
        public var since: ChangeToken?
        /// The token that it was given.
        public var token: ChangeToken
        /// What had been committed when the page was made: each record was shown by its last event up to
        /// here.
        public var shownThrough: SequenceNumber
        /// How many changes the page had.
        public var changeCount: Int
        /// Whether there was more after the token.
        public var moreComing: Bool

        /// Describes a page.
        public init(
            _ call: Call,
            _ caller: Caller,
            zone: ZoneID? = nil,
            since: ChangeToken?,
            token: ChangeToken,
            shownThrough: SequenceNumber,
            changeCount: Int,
            moreComing: Bool
        ) {
            self.call = call
            self.caller = caller
            self.zone = zone
            self.since = since
            self.token = token
            self.shownThrough = shownThrough
            self.changeCount = changeCount
            self.moreComing = moreComing
        }
    }

    /// Describes an entry.
    public init(time: Int64, lostCount: Int = 0, _ content: Content) {
        self.time = time
        self.lostCount = lostCount
        self.content = content
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// A request to a store and its result, as far as the log does not record them: `Docs/journal.md`.
public struct JournalEntry: Hashable, Codable, Sendable {
    /// The time by the store's own clock, in milliseconds since 1970.
    public var time: Int64
    /// The number of entries before this one that were lost because they could not be written.
    public var lostCount: Int
    /// The content of the entry.
    public var content: Content

    /// The content of an entry.
    public enum Content: Hashable, Codable, Sendable {
        /// The store was opened for writing, and the journal holds so much from here on.
        case began(StoreOptions.Journal)
        /// The store was closed.
        case ended
        /// A call, or items of it, were rejected.
        case refused(Refused)
        /// A device received a page of changes.
        case told(Told)

        /// The caller of the request; `nil` for entries that the store writes about itself.
        public var caller: Caller? {
            switch self {
            case .began, .ended: nil
            case .refused(let refused): refused.caller
            case .told(let told): told.caller
            }
        }
    }

    /// The kind of a client's request.
    ///
    /// Raw values are on disk: never renumber them.
    public enum Call: UInt8, Hashable, CaseIterable, Codable, Sendable {
        /// To save and delete records.
        case modifyRecords = 1
        /// To fetch records.
        case fetchRecords = 2
        /// To fetch the changes of a zone.
        case zoneChanges = 3
        /// To fetch the list of changed zones.
        case databaseChanges = 4
        /// To create and delete zones.
        case modifyZones = 5
        /// To list the zones.
        case zones = 6
        /// To find records.
        case query = 7
        /// To send, find or fetch assets.
        case assets = 8
        /// About users and accounts.
        case users = 9
        /// To accept a share, look it up or request access.
        case shares = 10
        /// To save, delete and list subscriptions.
        case subscriptions = 11
        /// To fetch notifications and mark them as read.
        case notifications = 12
    }

    /// One rejection, with its reason.
    public struct Refusal: Hashable, Codable, Sendable {
        /// The item that was rejected; `nil` for the call as a whole.
        public var item: SyncError.Item?
        /// CloudKit's code.
        public var code: SyncError.Code
        /// The rule, as worded in the error for the caller.
        ///
        /// Empty if the call as a whole, or another item of an atomic batch, is the reason.
        public var message: String

        /// Describes a refusal.
        public init(_ item: SyncError.Item?, _ code: SyncError.Code, _ message: String) {
            self.item = item
            self.code = code
            self.message = message
        }
    }

    /// The rejected parts of a call.
    public struct Refused: Hashable, Codable, Sendable {
        /// The kind of the request.
        public var call: Call
        /// By whom, from where, under which request id.
        public var caller: Caller
        /// The change token of the call.
        public var since: ChangeToken?
        /// The rejections.
        ///
        /// The one of the call as a whole comes first, if there is one.
        public var refusals: [Refusal]
        /// The number of further rejected items, for which one entry has no space.
        public var omittedCount = 0

        /// Creates the description of a rejection.
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

    /// A page of changes that a device received.
    ///
    /// The page has a token up to which the device has received all changes, and the token with
    /// which the device requested the page. By that token the device acknowledges all earlier
    /// pages.
    public struct Told: Hashable, Codable, Sendable {
        /// Changes of a zone, of a database, or notifications.
        public var call: Call
        /// The caller that received the page.
        public var caller: Caller
        /// The zone, as the caller names it; `nil` for the zones of a database, and for notifications.
        public var zone: ZoneID?
        /// The token of the device's request: the device acknowledges all changes up to it.
        public var since: ChangeToken?
        /// The token that it was given.
        public var token: ChangeToken
        /// The position up to which events were visible when the page was made.
        ///
        /// Each record was shown by its last event up to here.
        public var shownThrough: SequenceNumber
        /// The number of changes on the page.
        public var changeCount: Int
        /// True if more changes follow the token.
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

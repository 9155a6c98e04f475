// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// A request of CloudKit Web Services with an identified caller.
public struct WebRequest: Sendable {
    /// The part of the path that follows the database, such as `records/modify`.
    public var endpoint: String
    /// The body, as JSON.
    public var body: [UInt8]
    /// The caller, and the requested database.
    public var caller: Caller
    /// True if the answer may contain Tidemark's extensions: `X-Tidemark-Extensions: 1`.
    public var isExtended: Bool
    /// True if the answer contains a token after its records: `getCurrentSyncToken=true`.
    public var wantsSyncToken: Bool

    /// Creates a request.
    public init(
        _ endpoint: String,
        body: [UInt8] = [],
        as caller: Caller,
        isExtended: Bool = false,
        wantsSyncToken: Bool = false
    ) {
        self.endpoint = endpoint
        self.body = body
        self.caller = caller
        self.isExtended = isExtended
        self.wantsSyncToken = wantsSyncToken
    }
}

/// An endpoint of CloudKit Web Services: its path and its required credentials.
public struct WebEndpoint: Hashable, Sendable {
    /// The part of the path that follows the database.
    public let path: String
    /// True if `GET` is answered as well as `POST`.
    public let allowsGET: Bool
    /// The databases that have it.
    public let scopes: Set<DatabaseScope>
    /// True if it requires a signed-in user for every database.
    public let needsUser: Bool

    /// True if an answer may take reading much: queries and deltas.
    public let scans: Bool

    private init(
        _ path: String,
        _ scopes: Set<DatabaseScope> = [.public, .private, .shared],
        allowsGET: Bool = false,
        needsUser: Bool = false,
        scans: Bool = false
    ) {
        self.path = path
        self.scans = scans
        self.scopes = scopes
        self.allowsGET = allowsGET
        self.needsUser = needsUser
    }

    /// Every endpoint.
    public static let all: [WebEndpoint] = [
        WebEndpoint("records/query", scans: true),
        WebEndpoint("records/modify"),
        WebEndpoint("records/lookup"),
        WebEndpoint("records/changes", scans: true),
        WebEndpoint("records/resolve", needsUser: true),
        WebEndpoint("records/accept", needsUser: true),
        WebEndpoint("zones/list", allowsGET: true),
        WebEndpoint("zones/lookup"),
        WebEndpoint("zones/modify"),
        WebEndpoint("zones/changes", scans: true),
        WebEndpoint("changes/database", scans: true),
        WebEndpoint("changes/zone", scans: true),
        WebEndpoint("subscriptions/list", allowsGET: true, needsUser: true),
        WebEndpoint("subscriptions/lookup", needsUser: true),
        WebEndpoint("subscriptions/modify", needsUser: true),
        WebEndpoint("users/current", [.public, .private], allowsGET: true, needsUser: true),
        WebEndpoint("users/caller", [.public, .private], allowsGET: true, needsUser: true),
        WebEndpoint("users/discover", [.public], allowsGET: true, needsUser: true),
        WebEndpoint("users/lookup/email", [.public], needsUser: true),
        WebEndpoint("users/lookup/id", [.public], needsUser: true),
        WebEndpoint("users/lookup/contacts", [.public], allowsGET: true, needsUser: true),
        WebEndpoint("assets/upload"),
        WebEndpoint("assets/rereference"),
    ]

    /// Finds an endpoint by its path.
    public init?(path: String) {
        guard let endpoint = Self.byPath[path] else { return nil }
        self = endpoint
    }

    private static let byPath = Dictionary(uniqueKeysWithValues: all.map { ($0.path, $0) })
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
public import TidemarkDatabase
public import TidemarkModel

/// The credential that an app sends with each request: it names the container and the environment.
public struct APIToken: RecordCodable, Sendable {
    /// The name of its records.
    public static let recordType = "APIToken"
    /// The hash of the token, in hexadecimal digits.
    public var id: RecordName
    /// The name that people know it by.
    public var name: String
    /// The container's identifier.
    public var container: String
    /// The environment's name.
    public var environment: String
    /// The origins of pages that may use it, such as `https://example.org`; none allows all.
    public var origins: [String] = []
    /// The address to which a browser goes once its user has signed in; `nil` posts a message to
    /// the page that opened it.
    public var callback: String?
    /// True if users are asked if others may find them.
    public var asksDiscoverable = false

    /// Creates a token.
    public init(
        _ token: String,
        name: String,
        container: ContainerID,
        environment: Environment,
        origins: [String] = [],
        callback: String? = nil,
        asksDiscoverable: Bool = false
    ) {
        id = Self.recordName(of: token)
        self.name = name
        self.container = container.identifier
        self.environment = environment.rawValue
        self.origins = origins
        self.callback = callback
        self.asksDiscoverable = asksDiscoverable
    }

    static func recordName(of token: String) -> RecordName {
        // A hash without salt suffices: a token has 256 random bits, so it cannot be found by
        // trying.
        RecordName([UInt8].sha256(token).hexadecimal)
    }

    /// Returns true if pages of an origin may use the token.
    func allows(_ origin: String) -> Bool { origins.isEmpty || origins.contains(origin) }
}
#endif

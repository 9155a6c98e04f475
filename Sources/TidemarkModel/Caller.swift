// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The origin of a call: user, device, build and request id.
///
/// Every call carries its caller and every commit keeps it.
public struct Caller: Hashable, Sendable {
    /// The database of the request: container, environment, scope and owner.
    public var database: DatabaseID
    /// The user; `nil` is an anonymous reader of the public database.
    public var user: UserID?
    /// The device, as it calls itself.
    public var device: String? {
        get { deviceName?.string }
        set { deviceName = newValue.map { Name($0) } }
    }

    private var deviceName: Name?
    /// The build of the app.
    public var build: String? {
        get { buildName?.string }
        set { buildName = newValue.map { Name($0) } }
    }

    private var buildName: Name?
    /// The id that makes a request idempotent.
    ///
    /// If the same user sends a request again under the same id in the same database, it gets the
    /// first answer. The same id with other content is refused.
    public var requestID: String? {
        get { requestIDName?.string }
        set { requestIDName = newValue.map { Name($0) } }
    }

    private var requestIDName: Name?
    /// The way in which the service identified the user.
    ///
    /// A service that answers the requests of others sets it after it has checked a credential. A
    /// store that was opened with `StoreOptions.requiresAuthentication` refuses a user without it.
    public var authentication: Authentication
    /// The place of the request in a distributed trace; `nil` if it belongs to none.
    public var trace: TraceContext?
}

// In an extension, so that the members are set once, by the initializer that the compiler makes:
// setting an optional member again makes an initializer copy the whole value.
extension Caller {
    /// Creates a caller; the default database is the user's own private one.
    public init(
        database: DatabaseID? = nil,
        user: UserID? = .current,
        device: String? = nil,
        build: String? = nil,
        requestID: String? = nil,
        authentication: Authentication = .inProcess,
        trace: TraceContext? = nil
    ) {
        self.init(
            database: database ?? DatabaseID(owner: user ?? .current),
            user: user,
            deviceName: device.map { Name($0) },
            buildName: build.map { Name($0) },
            requestIDName: requestID.map { Name($0) },
            authentication: authentication,
            trace: trace
        )
    }
}

extension Caller: Codable {
    private enum CodingKeys: String, CodingKey {
        case database, user, device, build, requestID, traceparent
    }

    /// Reads the caller as a client describes itself.
    ///
    /// The authentication is not read: the service that answers sets it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            database: try container.decode(DatabaseID.self, forKey: .database),
            user: try container.decodeIfPresent(UserID.self, forKey: .user),
            device: try container.decodeIfPresent(String.self, forKey: .device),
            build: try container.decodeIfPresent(String.self, forKey: .build),
            requestID: try container.decodeIfPresent(String.self, forKey: .requestID),
            trace: try container.decodeIfPresent(String.self, forKey: .traceparent)
                .flatMap { TraceContext(traceparent: $0) }
        )
    }

    /// Writes the caller as a client describes itself.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(database, forKey: .database)
        try container.encodeIfPresent(user, forKey: .user)
        try container.encodeIfPresent(device, forKey: .device)
        try container.encodeIfPresent(build, forKey: .build)
        try container.encodeIfPresent(requestID, forKey: .requestID)
        try container.encodeIfPresent(trace?.traceparent, forKey: .traceparent)
    }
}

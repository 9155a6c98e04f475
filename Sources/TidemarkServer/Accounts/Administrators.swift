// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
public import TidemarkDatabase
import TidemarkModel

/// A person who may administer the server from another machine.
public struct Administrator: RecordCodable, Sendable {
    /// The name of its records.
    public static let recordType = "Administrator"
    /// The hash of the secret, in hexadecimal digits.
    public var id: RecordName
    /// The name that people know them by.
    public var name: String

    static func recordName(of secret: String) -> RecordName {
        // A secret has 256 random bits, so a hash without salt suffices, as for API tokens.
        RecordName([UInt8].sha256(secret).hexadecimal)
    }
}

/// A recorded call of an administrator.
public struct AdministrationRecord: RecordCodable, Sendable {
    /// The name of its records.
    public static let recordType = "Call"
    /// A name that sorts by time.
    public var id: RecordName
    /// The id of the administrator; `local` for a user of the store's folder.
    public var administrator: String
    /// The name of the administrator at that time.
    public var name: String
    /// The name of the call.
    public var call: String
    /// The call as JSON, without secrets.
    public var content: String
    /// The address of the client; empty for the socket in the store's folder.
    public var address: String
}

extension Directory {
    /// Creates an administrator and returns their secret, which is not stored.
    public func addAdministrator(name: String) async throws -> String {
        guard !name.isEmpty, name.utf8.count <= 100 else {
            throw SyncError(
                .invalidArguments,
                "The name of an administrator must have 1 to 100 bytes; it has \(name.utf8.count)."
            )
        }
        let secret = [UInt8].random(32).hexadecimal
        try await registry.administrators.save(
            Administrator(id: Administrator.recordName(of: secret), name: name)
        )
        return secret
    }

    /// Every administrator, oldest first.
    public func administrators() async throws -> [Stored<Administrator>] {
        try await registry.administrators.all(Administrator.self)
    }

    /// Ends the secret of an administrator, by the name of its record.
    public func revokeAdministrator(_ id: String) async throws {
        let name = RecordName(id)
        guard !id.isEmpty, try await registry.administrators.fetchIfPresent(name) != nil else {
            throw SyncError(
                .unknownItem,
                "There is no administrator \(id).",
                remedy: "Give what `tidemark administrators list` prints in its first column."
            )
        }
        try await registry.administrators.delete(name)
    }

    /// Returns the administrator with a secret; `nil` if there is none.
    func administrator(_ secret: String) async throws -> Administrator? {
        try await registry.administrators.fetchIfPresent(
            Administrator.self,
            Administrator.recordName(of: secret)
        )?.value
    }

    /// Records a call.
    func keep(_ call: AdministrationRecord) async throws {
        try await registry.administration.save(call)
    }

    /// Returns the requests of administrators, oldest first.
    public func administration() async throws -> [Stored<AdministrationRecord>] {
        try await registry.administration.all(AdministrationRecord.self)
    }
}

// MARK: Calls

/// Creates an administrator; the answer is the secret.
public struct AddAdministratorCall: DirectoryCall {
    /// See `AdministrationCall`.
    public static let name = "administrators-add"
    /// See `AdministrationCall`.
    public var writes: Bool { true }
    /// See `AdministrationCall`.
    public typealias Answer = String

    /// The name that people know them by.
    public var administrator: String

    /// Creates the call.
    public init(_ administrator: String) {
        self.administrator = administrator
    }

    func answer(from directory: Directory) async throws -> String {
        try await directory.addAdministrator(name: administrator)
    }
}

/// Lists the administrators.
public struct AdministratorsCall: DirectoryCall {
    /// See `AdministrationCall`.
    public static let name = "administrators"
    /// See `AdministrationCall`.
    public typealias Answer = [Entry]

    /// Creates the call.
    public init() {}

    /// An administrator.
    public struct Entry: Codable, Hashable, Sendable {
        /// The name of the record.
        public var id: String
        /// The name that people know them by.
        public var name: String
        /// The time of creation, in milliseconds since 1970.
        public var created: Int64
    }

    func answer(from directory: Directory) async throws -> [Entry] {
        try await directory.administrators().map {
            Entry(id: $0.value.id.text, name: $0.value.name, created: $0.record.created.time)
        }
    }
}

/// Ends the secret of an administrator.
public struct RevokeAdministratorCall: DirectoryCall {
    /// See `AdministrationCall`.
    public static let name = "administrators-revoke"
    /// See `AdministrationCall`.
    public var writes: Bool { true }

    /// The name of the record.
    public var administrator: String

    /// Creates the call.
    public init(_ administrator: String) {
        self.administrator = administrator
    }

    func answer(from directory: Directory) async throws -> Nothing {
        try await directory.revokeAdministrator(administrator)
        return Nothing()
    }
}

/// Lists the requests of administrators, oldest first.
public struct AdministrationRecordsCall: DirectoryCall {
    /// See `AdministrationCall`.
    public static let name = "administrators-log"
    /// See `AdministrationCall`.
    public typealias Answer = [Entry]

    /// Creates the call.
    public init() {}

    /// A recorded call.
    public struct Entry: Codable, Hashable, Sendable {
        /// The time in milliseconds since 1970.
        public var time: Int64
        /// The id of the administrator; `local` for a user of the store's folder.
        public var administrator: String
        /// The name of the administrator at that time.
        public var name: String
        /// The name of the call.
        public var call: String
        /// The call as JSON, without secrets.
        public var content: String
        /// The address of the client; empty for the socket in the store's folder.
        public var address: String
    }

    func answer(from directory: Directory) async throws -> [Entry] {
        try await directory.administration().map { kept in
            Entry(
                time: kept.record.created.time,
                administrator: kept.value.administrator,
                name: kept.value.name,
                call: kept.value.call,
                content: kept.value.content,
                address: kept.value.address
            )
        }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
public import TidemarkDatabase
public import TidemarkModel

/// A person who can sign in.
public struct Account: RecordCodable, Sendable {
    /// The name of its records.
    public static let recordType = "Account"
    /// A random name.
    public var id: RecordName
    /// The address with which the person signs in; the name of the record if an issuer knows them.
    public var email: String
    /// The given name; empty if there is none.
    public var givenName: String
    /// The family name; empty for none.
    public var familyName: String
    /// The password's hash.
    public var password: String
    /// True if others may find the person in containers that did not ask.
    public var isDiscoverable = false
    /// True if signing in is refused.
    public var isLocked = false
    /// The OpenID Connect issuer whose tokens name the person; `nil` for an account with a password.
    public var issuer: String?
    /// The person's name at the issuer.
    public var subject: String?
    /// The last time at which all sessions were ended, in milliseconds since 1970.
    ///
    /// Tokens of the issuer from before it are refused.
    public var signedOut: Int64?

    /// Returns the person's user in a container: different in each, and always the same in one.
    public func user(in container: ContainerID) -> UserID {
        // Derived, so that no record is needed. Two apps cannot tell by the names that they have
        // the same user. Keys use the prefix `key|`, so a key's user is never a person's.
        UserID(serverAccount: id.text, in: container)
    }

    /// Returns true if a person may write the account's address so.
    public func hasAddress(_ text: String) -> Bool { email == Self.normalized(text) }

    /// The person's name.
    var personName: PersonName {
        PersonName(
            givenName: givenName.isEmpty ? nil : givenName,
            familyName: familyName.isEmpty ? nil : familyName
        )
    }
}

/// The account that has an address.
struct AccountAddress: RecordCodable {
    static let recordType = "Address"
    var id: RecordName
    var account: String

    static func recordName(of email: String) -> RecordName {
        // This name makes an address unique: the record of a second account with it conflicts.
        // Addresses and accounts share a zone, so each has a prefix.
        RecordName("address-" + [UInt8].sha256(Account.normalized(email)).hexadecimal)
    }
}

extension Account {
    /// Returns the canonical form of an address, for comparisons.
    static func normalized(_ email: String) -> String {
        // RFC 5321 lets a host distinguish the case of the first part. Hardly any does, and people
        // type their address in any case.
        let trimmed = email.drop(while: \.isWhitespace)
        let end = trimmed.lastIndex { !$0.isWhitespace }
        return end.map { trimmed[...$0].lowercased() } ?? ""
    }

    /// Returns the canonical form of an address; throws if it is none.
    static func address(_ email: String) throws(SyncError) -> String {
        let address = normalized(email)
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        // A line feed in an address could become a header of a message to it.
        let isPrintable = address.unicodeScalars.allSatisfy {
            !$0.properties.isWhitespace && $0.properties.generalCategory != .control
        }
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), isPrintable,
            address.utf8.count <= 200
        else {
            throw SyncError(
                .invalidArguments,
                "\"\(email)\" is not an e-mail address; write name@host, without spaces."
            )
        }
        return address
    }

    static func recordName(_ id: String) -> RecordName {
        RecordName(UserID.serverAccountPrefix + id)
    }
}

/// A signing in that has not ended.
struct Session: RecordCodable, Sendable {
    static let recordType = "Session"
    var id: RecordName
    /// The name of the account's record.
    var account: String
    var user: String
    var container: String
    var environment: String
    /// True if it lasts two weeks rather than half an hour.
    var isKept: Bool
    var hasEnded = false

    /// Milliseconds for which the session lasts without a request.
    var lifetime: Int64 { isKept ? Self.longestLifetime : 30 * 60_000 }

    /// The milliseconds of two weeks.
    static let longestLifetime: Int64 = 14 * 24 * 60 * 60_000
}
#endif

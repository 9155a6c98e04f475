// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
public import TidemarkModel

/// The user or the zone that an erasure removes.
public enum ErasureSubject: Hashable, Codable, Sendable {
    /// A user, in all containers and environments of the store.
    ///
    /// The name of an account of the server means the account, and its users in all containers.
    case user(UserID)
    /// A zone of a database, with all zones of that name that were there before it.
    ///
    /// In a shared database it is the zone of its owner.
    case zone(ZoneID, in: DatabaseID)
}

extension ErasureSubject {
    /// The user, if it is one.
    package var user: UserID? {
        if case .user(let user) = self { user } else { nil }
    }

    /// The zone, if it is one.
    var zone: ZoneIdentity? {
        guard case .zone(let zone, let database) = self else { return nil }
        return ZoneIdentity(zone, seenFrom: database)
    }

    /// Returns true if the erasure removes everything in a zone.
    ///
    /// `users` are the users that the subject is. Internal zones of the store are removed only with
    /// their user.
    func includes(_ identity: ZoneIdentity, of users: Set<UserID>) -> Bool {
        // The audiences of the user's shares are included: their scope is shared, and their owner
        // is the zone's owner (events.md, "Audience entered, audience left").
        let database = identity.database
        guard let zone else {
            return database.scope != .public && users.contains(database.owner)
        }
        if zone.isSystem { return false }
        if identity == zone { return true }
        // An audience is named after its zone, a NUL and the share's token. The zone may be another
        // epoch than the one that is there now.
        return identity.isAudience && database.container == zone.database.container
            && database.environment == zone.database.environment
            && database.owner == zone.database.owner
            && identity.zoneName.string.hasPrefix(zone.zoneName.string + "\0")
    }
}

extension ZoneIdentity {
    /// The zone that a name means in a database: in a shared one, that of its owner.
    init(_ zone: ZoneID, seenFrom database: DatabaseID) {
        let owner =
            zone.ownerName == ZoneID.currentOwner ? database.owner : UserID(zone.ownerName)
        let scope = database.scope == .public ? DatabaseScope.public : .private
        self.init(database: database.sibling(scope, of: owner), zoneName: zone.name)
    }
}

// MARK: - The file that says what is being erased

extension ErasureSubject {
    private static let magic: [UInt8] = Array("TIDERASE".utf8)
    /// The version that this build writes and reads.
    static let version: UInt32 = 1
    private static let headByteCount = 16
    private static let hashByteCount = 8

    /// The bytes of the file `ERASING`: `Docs/formats/events.md` has them.
    package var bytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(integer: Self.version)
        switch self {
        case .user(let user):
            bytes.append(contentsOf: [1, 0, 0, 0])
            bytes.append(string: user.userRecordName)
        case .zone(let zone, let database):
            bytes.append(contentsOf: [2, 0, 0, 0])
            bytes.append(contentsOf: ZoneIdentity(zone, seenFrom: database).bytes)
        }
        bytes.append(integer: xxh3(bytes.span.bytes, seed: 0))
        return bytes
    }

    /// Returns the version of the bytes of a subject; `nil` for other or damaged bytes.
    private static func statedVersion(of bytes: [UInt8]) -> UInt32? {
        let end = bytes.count - hashByteCount
        let span = bytes.span.bytes
        guard end > headByteCount, bytes.starts(with: magic),
            span.integer(at: end, as: UInt64.self) == xxh3(span.extracting(0..<end), seed: 0)
        else { return nil }
        return span.integer(at: 8, as: UInt32.self)
    }

    /// Returns the version of bytes that only a newer build can read; `nil` for all others.
    static func newerVersion(of bytes: [UInt8]) -> UInt32? {
        statedVersion(of: bytes).flatMap { $0 > version ? $0 : nil }
    }

    /// Reads the result of `bytes`; `nil` for other bytes.
    package init?(bytes: [UInt8]) {
        guard Self.statedVersion(of: bytes) == Self.version else { return nil }
        let end = bytes.count - Self.hashByteCount
        let span = bytes.span.bytes
        var offset = Self.headByteCount
        switch span.byte(at: 12) {
        case 1:
            guard let name = span.string(at: &offset) else { return nil }
            self = .user(UserID(name))
        case 2:
            guard let zone = ZoneIdentity(span, at: &offset) else { return nil }
            self = .zone(zone.zone, in: zone.database)
        default: return nil
        }
        guard offset == end else { return nil }
    }
}

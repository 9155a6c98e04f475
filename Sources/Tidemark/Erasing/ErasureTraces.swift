// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// The places in a log that mention a user or a zone, found by one pass over it.
///
/// Zones that are removed as a whole are found by their creation. In internal zones of the store,
/// and among the users' records of public databases, single records are removed. All their events
/// up to the last one about the subject are removed, so that no older version reappears.
struct ErasureTraces {
    let subject: ErasureSubject
    /// The users that the subject is: an account of the server is another user in each container.
    private(set) var users: Set<UserID> = []
    /// The keys of removed zones, and of their audiences.
    private(set) var zones: Set<ZoneKey> = []
    /// The number of keys that are zones.
    private(set) var zoneCount = 0
    /// The databases of zones that go.
    private(set) var databases: Set<DatabaseID> = []
    /// The public databases of all containers and environments.
    private(set) var homes: Set<DatabaseID> = []
    /// Of records that go, in each zone: the last position that does.
    private(set) var limits: [ZoneKey: [Name: SequenceNumber]] = [:]
    /// The user's addresses and numbers, in the form in which they are compared.
    private(set) var addresses: Set<UserLookup> = []
    /// The same as they were written, and the names of the server's records of them.
    private(set) var addressTexts: Set<Name> = []
    /// The shared databases of users that see removed data.
    private(set) var participants: Set<DatabaseID> = []
    /// The places of the zone's own database: rejected items in their commits may refer to the
    /// zone.
    private(set) var kin: Set<ZoneKey> = []
    private var places: [ZoneKey: Place] = [:]
    private var ended: Set<ZoneKey> = []
    /// Zones in which a name was given another slot than its hash.
    private var probed: Set<ZoneKey> = []
    /// Addresses of which there is a record in each zone of accounts, or was before it was deleted.
    private var knownAddresses: [ZoneKey: Set<Name>] = [:]

    /// A zone in which some records may be about the subject.
    private enum Place {
        case users
        case roles
        case shares(DatabaseID)
        case subscriptions
        case notifications(DatabaseID)
        case notified
        /// The default zone of a public database, with the records of users.
        case userRecords
        /// A zone of the server's own records: accounts, sessions, couriers and webhooks.
        case registry
        /// The zone of the server's records of administrators' calls.
        case administration
    }

    init(of subject: ErasureSubject) {
        self.subject = subject
        if let user = subject.user { users = [user] }
    }

    /// Zones that stay and whose change tokens cannot be answered any more.
    var raisedZones: [ZoneKey] {
        limits.keys.filter { key in
            // Tokens of a zone that has ended are expired anyway.
            if ended.contains(key) { return false }
            // Of the zones that lose single records, clients have tokens only for these two kinds.
            switch places[key] {
            case .notifications, .userRecords: return true
            default: return false
            }
        }
        .sorted()
    }

    /// Returns true if a zone holds the accounts of users.
    func isOfUsers(_ zone: ZoneKey) -> Bool {
        if case .users = places[zone] { true } else { false }
    }

    /// Returns true if a zone holds the records of administrators' calls.
    func isOfAdministration(_ zone: ZoneKey) -> Bool {
        if case .administration = places[zone] { true } else { false }
    }

    /// Returns true if the lookup names the user, or one of the user's addresses.
    func isMeant(_ lookup: UserLookup) -> Bool {
        if case .user(let user) = lookup, users.contains(user) { return true }
        return addresses.contains(lookup.normalized)
    }

    /// Takes in the next event.
    mutating func add(_ event: LogEvent) throws(EventFormatError) {
        switch event.kind {
        case .zoneCreated:
            addZone(
                ZoneKey(createdAt: event.sequence),
                try ZoneEvent.readCreation(event.payload.span.bytes).identity
            )
        case .zoneDeleted:
            ended.insert(event.zone)
        case .recordSaved, .recordDeleted, .recordTouched:
            guard let place = places[event.zone] else { return }
            let stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
            // The lookup of a name that was moved reads the slot of the other name first. Without
            // that record's events the name could not be found.
            if stored.event.probeCount > 0 { probed.insert(event.zone) }
            if stored.event.state == .live {
                add(try stored.body(), stored, place)
            } else {
                addTombstone(Name(try stored.tombstone().name), stored, place)
            }
        default: break
        }
    }

    private mutating func addZone(_ key: ZoneKey, _ identity: ZoneIdentity) {
        homes.insert(identity.database.ofSystemZones)
        addUser(in: identity.database.container)
        if subject.includes(identity, of: users) {
            zones.insert(key)
            databases.insert(identity.database)
            if !identity.isAudience { zoneCount += 1 }
            return
        }
        if identity.database == subject.zone?.database { kin.insert(key) }
        places[key] =
            switch identity.systemZone {
            case .users: .users
            case .roles: .roles
            case .shares: .shares(identity.database)
            case .subscriptions: .subscriptions
            case .notifications: .notifications(identity.database)
            case .notified: .notified
            case .schema: nil
            case nil where identity.database.container == .server:
                identity.zoneName.string == "administration" ? .administration : .registry
            case nil:
                identity.isImplicit && identity.database.scope == .public ? .userRecords : nil
            }
    }

    /// Adds the user that the subject is in a container, if it is an account of the server.
    private mutating func addUser(in container: ContainerID) {
        guard let account = subject.user, account.isServerAccount else { return }
        users.insert(UserID(serverAccount: account.userRecordName, in: container))
    }

    // MARK: Records

    private mutating func add(_ body: RecordBody, _ stored: StoredRecord, _ place: Place) {
        let name = Name(body.recordName)
        switch place {
        case .users: addAccount(body, stored)
        case .registry, .subscriptions:
            // The container may have no zone yet.
            if let container = body.fields.string("container") {
                addUser(in: ContainerID(container))
            }
            if Self.isServerAddress(name) {
                knownAddresses[stored.zone, default: []].insert(name)
            }
        default: break
        }
        var isMeant = isNamedAfterUser(name, place)
        if case .userRecords = place {
            isMeant = isMeant && Name(body.recordType).isUsersType
        }
        if isMeant || isAboutSubject(body, place) {
            // The last such event counts. Everything before it goes too, also what another subject
            // wrote under the name.
            limits[stored.zone, default: [:]][name] = stored.sequence
            if case .registry = place { addServerAccount(body) }
        }
    }

    private mutating func addTombstone(_ name: Name, _ stored: StoredRecord, _ place: Place) {
        let position = stored.sequence
        let limit = limits[stored.zone]?[name]
        // The end of the removed records, not of later ones of another user under the same name.
        let isEnd = limit.map { stored.event.previous <= $0 } ?? false
        guard isEnd || isNamedAfterUser(name, place) || isOrphan(name, stored, place) else {
            return
        }
        limits[stored.zone, default: [:]][name] = position
    }

    /// Returns true if the event deletes an address whose owner compaction has dropped.
    ///
    /// The address may have been the user's, and the deletion carries no information about any
    /// other user.
    private func isOrphan(_ name: Name, _ stored: StoredRecord, _ place: Place) -> Bool {
        guard let user = subject.user else { return false }
        let isAddress =
            switch place {
            case .users: AccountRecords.isReserved(UserID(name.string))
            case .registry: user.isServerAccount && Self.isServerAddress(name)
            default: false
            }
        return isAddress && knownAddresses[stored.zone]?.contains(name) != true
    }

    private mutating func addAccount(_ body: RecordBody, _ stored: StoredRecord) {
        if AccountRecords.owner(in: body) != nil {
            knownAddresses[stored.zone, default: []].insert(Name(body.recordName))
        }
        guard let account = AccountRecords.account(in: body), users.contains(account.user) else {
            return
        }
        addresses.formUnion(account.addresses)
        let texts = account.emails + account.phones + account.addresses.map(\.text)
        addressTexts.formUnion(texts.map { Name($0) })
    }

    /// Takes in the address in a record of the server that is about the account.
    private mutating func addServerAccount(_ body: RecordBody) {
        if let email = body.fields.string("email") {
            addresses.insert(UserLookup(email).normalized)
            addressTexts.insert(Name(email))
        }
        // The name is a hash of the address, by which anybody who knows the address recognizes it.
        let name = Name(body.recordName)
        if Self.isServerAddress(name) { addressTexts.insert(name) }
    }

    /// Returns true for the name of a record by which the server finds an account by its address.
    private static func isServerAddress(_ name: Name) -> Bool {
        name.string.hasPrefix("address-")
    }

    /// Returns true if a record's name alone shows that the record is about the user.
    private func isNamedAfterUser(_ name: Name, _ place: Place) -> Bool {
        guard let user = subject.user else { return false }
        // In the names of subscriptions and notifications, users' names are escaped, so a slash
        // always separates two parts. A search in the whole name would also find users whose names
        // contain this one.
        let parts = name.string.utf8
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        func isUser(_ index: Int) -> Bool {
            guard index < parts.count else { return false }
            return users.contains { parts[index].elementsEqual($0.userRecordName.escaped.utf8) }
        }
        switch place {
        case .users, .roles, .userRecords: return users.contains(UserID(name.string))
        case .registry: return user.isServerAccount && name == user.name
        case .subscriptions: return isUser(2) || isUser(4)
        case .notifications: return isUser(2)
        case .notified: return isUser(2)
        case .shares, .administration: return false
        }
    }

    /// Returns true if a record's content is about the subject.
    private mutating func isAboutSubject(_ body: RecordBody, _ place: Place) -> Bool {
        switch place {
        case .users:
            return AccountRecords.owner(in: body).map { users.contains($0) } ?? false
        case .shares(let home):
            if let link = ShareRecords.link(in: body) {
                return subject.includes(link.zoneIdentity(in: home), of: users)
            }
            guard let part = ShareRecords.participation(in: body) else { return false }
            if users.contains(part.user) { return true }
            guard subject.includes(part.zoneIdentity(in: home), of: users) else { return false }
            participants.insert(home.sibling(.shared, of: part.user))
            return true
        case .subscriptions:
            return isAboutSubject(subscription: body.fields)
        case .notifications(let home):
            guard let zone = body.fields.zone else { return false }
            return isAboutSubject(zone, seenFrom: home, scope: body.fields.string("database"))
        case .registry:
            return isUser(in: body.fields, ["account", "user"])
        case .roles, .notified, .userRecords, .administration:
            return false
        }
    }

    /// Returns true if one of some fields names the user.
    private func isUser(in fields: Fields, _ names: [String]) -> Bool {
        names.contains { name in fields.string(name).map { users.contains(UserID($0)) } ?? false }
    }

    private func isAboutSubject(subscription fields: Fields) -> Bool {
        if subject.user != nil { return isUser(in: fields, ["user", "owner", "zoneOwner"]) }
        guard let zone = fields.zone, let container = fields.string("container"),
            let environment = fields.string("environment").flatMap(Environment.init(rawValue:))
        else { return false }
        let database = DatabaseID(
            container: ContainerID(container),
            environment: environment,
            scope: .private,
            owner: UserID(fields.string("owner") ?? "")
        )
        return isAboutSubject(zone, seenFrom: database, scope: fields.string("database"))
    }

    private func isAboutSubject(_ zone: ZoneID, seenFrom home: DatabaseID, scope: String?) -> Bool {
        let scope = scope.flatMap { DatabaseScope(name: $0) } ?? .private
        let database = home.sibling(scope, of: home.owner)
        return subject.includes(ZoneIdentity(zone, seenFrom: database), of: users)
    }

    // MARK: The end

    /// Throws if a record cannot be taken out, since another is found by way of it.
    func check() throws(LogError) {
        guard let zone = limits.keys.first(where: probed.contains) else { return }
        throw LogError(
            .readOnly,
            "Two names share one slot of zone \(zone), so one record cannot be erased without "
                + "losing another. Export the store, then import what you want to keep into a new "
                + "one."
        )
    }
}

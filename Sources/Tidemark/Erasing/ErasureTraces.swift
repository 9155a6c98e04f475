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
    /// The same as they were written.
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
    }

    init(of subject: ErasureSubject) {
        self.subject = subject
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

    /// Returns true if the lookup names the user, or one of the user's addresses.
    func isMeant(_ lookup: UserLookup) -> Bool {
        guard let user = subject.user else { return false }
        return lookup == .user(user) || addresses.contains(lookup.normalized)
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
        if subject.includes(identity) {
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
            case nil:
                identity.isImplicit && identity.database.scope == .public ? .userRecords : nil
            }
    }

    // MARK: Records

    private mutating func add(_ body: RecordBody, _ stored: StoredRecord, _ place: Place) {
        let name = Name(body.recordName)
        if case .users = place { addAccount(body, stored) }
        var isMeant = isNamedAfterUser(name, place)
        if case .userRecords = place {
            isMeant = isMeant && Name(body.recordType) == Schema.RecordType.users.name
        }
        if isMeant || isAboutSubject(body, place) {
            // The last such event counts. Everything before it goes too, also what another subject
            // wrote under the name.
            limits[stored.zone, default: [:]][name] = stored.sequence
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
        guard case .users = place, subject.user != nil,
            AccountRecords.isReserved(UserID(name.string))
        else { return false }
        return knownAddresses[stored.zone]?.contains(name) != true
    }

    private mutating func addAccount(_ body: RecordBody, _ stored: StoredRecord) {
        if AccountRecords.owner(in: body) != nil {
            knownAddresses[stored.zone, default: []].insert(Name(body.recordName))
        }
        guard let account = AccountRecords.account(in: body), account.user == subject.user else {
            return
        }
        addresses.formUnion(account.addresses)
        let texts = account.emails + account.phones + account.addresses.map(\.text)
        addressTexts.formUnion(texts.map { Name($0) })
    }

    /// Returns true if a record's name alone shows that the record is about the user.
    private func isNamedAfterUser(_ name: Name, _ place: Place) -> Bool {
        guard let user = subject.user else { return false }
        // In the names of subscriptions and notifications, users' names are escaped, so a slash
        // always separates two parts. A search in the whole name would also find users whose names
        // contain this one.
        let parts = name.string.utf8
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let wanted = user.userRecordName.escaped.utf8
        func isUser(_ index: Int) -> Bool {
            index < parts.count && parts[index].elementsEqual(wanted)
        }
        switch place {
        case .users, .roles, .userRecords: return name == user.name
        case .subscriptions: return isUser(2) || isUser(4)
        case .notifications: return isUser(2)
        case .notified: return isUser(2)
        case .shares: return false
        }
    }

    /// Returns true if a record's content is about the subject.
    private mutating func isAboutSubject(_ body: RecordBody, _ place: Place) -> Bool {
        switch place {
        case .users:
            return subject.user != nil && AccountRecords.owner(in: body) == subject.user
        case .shares(let home):
            if let link = ShareRecords.link(in: body) {
                return subject.includes(link.zoneIdentity(in: home))
            }
            guard let part = ShareRecords.participation(in: body) else { return false }
            if part.user == subject.user { return true }
            guard subject.includes(part.zoneIdentity(in: home)) else { return false }
            participants.insert(
                DatabaseID(
                    container: home.container,
                    environment: home.environment,
                    scope: .shared,
                    owner: part.user
                )
            )
            return true
        case .subscriptions:
            return isAboutSubject(subscription: body.fields)
        case .notifications(let home):
            guard let zone = body.fields.zone else { return false }
            return isAboutSubject(zone, seenFrom: home, scope: body.fields.string("database"))
        case .roles, .notified, .userRecords:
            return false
        }
    }

    private func isAboutSubject(subscription fields: Fields) -> Bool {
        if let user = subject.user {
            return ["user", "owner", "zoneOwner"]
                .contains { fields.string($0).map { UserID($0) } == user }
        }
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

    private func isAboutSubject(
        _ zone: ZoneID,
        seenFrom home: DatabaseID,
        scope: String?
    ) -> Bool {
        let database = DatabaseID(
            container: home.container,
            environment: home.environment,
            scope: scope.flatMap { DatabaseScope(name: $0) } ?? .private,
            owner: home.owner
        )
        return subject.includes(ZoneIdentity(zone, seenFrom: database))
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

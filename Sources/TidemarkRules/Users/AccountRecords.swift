// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkModel

/// The encoding of accounts as records of the zone `_users`.
///
/// There is one record named after the user, and one for each address and number, so that lookups
/// by address are as fast as by name.
package enum AccountRecords {
    private static let accountType = "User"
    private static let addressType = "UserAddress"
    private static let emailPrefix = "email/"
    private static let phonePrefix = "phone/"
    private static let owner = "user"

    /// The parts of a name, by the names of their fields.
    private static var nameParts: [(String, WritableKeyPath<PersonName, String?>)] {
        [
            ("namePrefix", \.namePrefix), ("givenName", \.givenName), ("middleName", \.middleName),
            ("familyName", \.familyName), ("nameSuffix", \.nameSuffix), ("nickname", \.nickname),
        ]
    }

    /// Returns the name of the record for a lookup: the record that leads from an address or number
    /// to its user, or the user's record.
    package static func recordName(of lookup: UserLookup) -> Name {
        // Addresses are compared in this form, so their records are named in it (events.md, "System
        // zones").
        switch lookup.normalized {
        case .email(let text): Name(emailPrefix + text)
        case .phone(let text): Name(phonePrefix + text)
        case .user(let user): user.name
        }
    }

    /// Returns true if the user's name could be confused with an address.
    package static func isReserved(_ user: UserID) -> Bool {
        user.userRecordName.hasPrefix(emailPrefix) || user.userRecordName.hasPrefix(phonePrefix)
    }

    /// Returns the change that turns one account into another: the account's record if it differs,
    /// and the records of added and removed addresses.
    package static func change(
        from old: UserAccount?,
        to new: UserAccount
    ) throws(SyncError) -> SystemChange {
        var change = SystemChange(zone: .users)
        if old == new { return change }
        let zone = SystemZone.users.zone
        change.saves = [
            RecordSave(
                RecordID(recordName: new.user.userRecordName, zone: zone),
                type: accountType,
                fields: try fields(of: new),
                policy: .replace
            )
        ]
        // Addresses that stay get no event, so their records keep their versions.
        let before = Set(old?.addresses ?? [])
        let after = Set(new.addresses)
        let name = new.user.userRecordName
        // An address that is given twice has one record.
        for address in new.addresses.eachOnce where !before.contains(address) {
            change.saves.append(
                RecordSave(
                    RecordID(recordName: recordName(of: address).string, zone: zone),
                    type: addressType,
                    fields: try Fields([owner: .string(name)]),
                    policy: .replace
                )
            )
        }
        change.deletions = (old?.addresses ?? []).eachOnce.filter { !after.contains($0) }
            .map(recordName)
        return change
    }

    private static func fields(of account: UserAccount) throws(SyncError) -> Fields {
        var builder = FieldsBuilder()
        func set(_ name: String, _ list: [String]) throws(SyncError) {
            if !list.isEmpty { try builder.set(name, .stringList(list)) }
        }
        try set("emails", account.emails)
        try set("phones", account.phones)
        try set("contacts", account.contacts.map(\.text))
        for (name, part) in nameParts {
            if let text = account.name[keyPath: part] { try builder.set(name, .string(text)) }
        }
        if account.isDiscoverable { try builder.set("isDiscoverable", .int64(1)) }
        if account.status != .available {
            try builder.set("status", .string(account.status.name))
        }
        return try builder.finish()
    }

    /// Returns the account in a record; `nil` if the record is not an account's.
    package static func account(in body: RecordBody) -> UserAccount? {
        guard body.recordType == accountType else { return nil }
        var account = UserAccount(UserID(body.recordName))
        account.emails = body.fields.strings("emails")
        account.phones = body.fields.strings("phones")
        account.contacts = body.fields.strings("contacts").map { UserLookup($0) }
        for (name, part) in nameParts {
            if case .string(let text)? = body.fields[name] { account.name[keyPath: part] = text }
        }
        account.isDiscoverable = body.fields["isDiscoverable"] == .int64(1)
        if case .string(let name)? = body.fields["status"] {
            // An unknown status must not count as available.
            account.status = AccountStatus(name: name) ?? .couldNotDetermine
        }
        return account
    }

    /// Returns the user of an address's or number's record; `nil` for any other record.
    package static func owner(in body: RecordBody) -> UserID? {
        guard body.recordType == addressType, case .string(let name)? = body.fields[owner] else {
            return nil
        }
        return UserID(name)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
public import TidemarkModel

/// Read by name, such as `available`.
extension AccountStatus: ExpressibleByArgument {
    /// Reads a status as the command line spells it.
    public init?(argument: String) {
        self.init(name: argument)
    }

    /// The names of all statuses.
    public static var allValueStrings: [String] { allCases.map(\.name) }
}

extension OutputOptions {
    /// Prints users, one to a line.
    func print(_ accounts: [UserAccount]) throws {
        try print(
            accounts,
            in: Table([
                ("user", .left), ("status", .left), ("discoverable", .left), ("name", .left),
                ("addresses", .left),
            ]),
            json: { $0.append(json: $1) },
            row: { account in
                [
                    account.user.userRecordName, account.status.name,
                    account.isDiscoverable ? "yes" : "no", account.name.description,
                    (account.emails + account.phones).joined(separator: " "),
                ]
            }
        )
    }
}

extension [UInt8] {
    /// Appends an account as one line's object.
    fileprivate mutating func append(json account: UserAccount) {
        append(literal: "{")
        append(member: "user", jsonString: account.user.userRecordName)
        append(member: "status", jsonString: account.status.name)
        append(member: "isDiscoverable", jsonBool: account.isDiscoverable)
        append(json: account.name)
        append(list: "emails", account.emails)
        append(list: "phones", account.phones)
        append(list: "contacts", account.contacts.map(\.text))
        append(literal: "}")
    }

    /// Appends the members for the parts of a name that are known, each after a comma.
    mutating func append(json name: PersonName) {
        let parts: [(StaticString, String?)] = [
            ("namePrefix", name.namePrefix), ("givenName", name.givenName),
            ("middleName", name.middleName), ("familyName", name.familyName),
            ("nameSuffix", name.nameSuffix), ("nickname", name.nickname),
        ]
        for case (let member, let text?) in parts {
            append(member: member, jsonString: text)
        }
    }

    private mutating func append(list member: StaticString, _ texts: [String]) {
        if texts.isEmpty { return }
        append(member: member)
        append(jsonList: texts) { $0.append(jsonString: $1) }
    }
}

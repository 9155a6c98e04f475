// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark users lookup`: whom an app would find.
struct UsersLookupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup",
        abstract: "Look up users, as an app does.",
        discussion: """
              tidemark users lookup notes.tide anna@example.org +49301234 _anna
              tidemark users lookup notes.tide --as _anna

            Finds users who are discoverable, and the user who asks. Prints one line for each \
            look-up. The status is 1 if one finds nobody. Without a look-up, the contacts of the \
            user who asks are looked up, and those that are found are printed.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "E-mail addresses, phone numbers or user record names.")
    var who: [String] = []

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The user who asks, by user record name or account:NAME.",
            valueName: "user"
        )
    )
    var user = UserID.current.userRecordName

    @OptionGroup var place: EnvironmentOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let caller = place.caller(user, of: .public)
        let lookups = who.map { UserLookup($0) }
        try await store.ask { service in
            if lookups.isEmpty {
                let contacts = try await service.answer(LookUpUsersCall(nil, as: caller))
                try print(contacts.compactMap(\.self).map { ($0.lookup?.text ?? "", $0) })
            } else {
                let found = try await service.answer(LookUpUsersCall(lookups, as: caller))
                try print(Array(zip(who, found)))
                // Last: the users that were found are printed whatever the status.
                if found.contains(nil) { throw ExitCode.failure }
            }
        }
    }

    private func print(_ found: [(asked: String, identity: UserIdentity?)]) throws {
        try options.print(
            found,
            in: Table([("look-up", .left), ("user", .left), ("name", .left)]),
            json: { $0.append(jsonOf: $1.asked, $1.identity) },
            row: { asked, identity in
                [
                    asked, identity?.user.userRecordName ?? "nobody",
                    identity?.name.description ?? "",
                ]
            }
        )
    }
}

extension [UInt8] {
    /// Appends a lookup and the user that it found.
    fileprivate mutating func append(jsonOf asked: String, _ identity: UserIdentity?) {
        append(literal: "{")
        append(member: "lookup", jsonString: asked)
        if let identity {
            append(member: "user", jsonString: identity.user.userRecordName)
            append(member: "hasAccount", jsonBool: identity.hasAccount)
            append(json: identity.name)
        }
        append(literal: "}")
    }
}

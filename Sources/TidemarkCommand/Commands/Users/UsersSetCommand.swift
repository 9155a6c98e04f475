// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark users set`: sets the account of a user.
struct UsersSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set the identity and the account status of a user.",
        discussion: """
              tidemark users set notes.tide _anna --email anna@example.org --given-name Anna \\
                  --discoverable
              tidemark users set notes.tide _anna --status temporarilyUnavailable

            Everything that no option names stays as it was. An address or number belongs to one \
            user. The store is created if it does not exist. Prints the user.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The user, by user record name or account:NAME.")
    var user: String

    @Option(
        help: ArgumentHelp(
            "E-mail addresses, which replace the earlier ones.",
            valueName: "address"
        )
    )
    var email: [String] = []

    @Flag(help: "No e-mail addresses.")
    var noEmail = false

    @Option(
        help: ArgumentHelp("Phone numbers, which replace the earlier ones.", valueName: "number")
    )
    var phone: [String] = []

    @Flag(help: "No phone numbers.")
    var noPhone = false

    @Option(
        help: ArgumentHelp(
            "The user's contacts: addresses, numbers, user record names.",
            valueName: "who"
        )
    )
    var contact: [String] = []

    @Flag(help: "Nobody in the contacts.")
    var noContact = false

    @Option(help: ArgumentHelp("A title before the name; empty to remove it.", valueName: "text"))
    var namePrefix: String?

    @Option(help: ArgumentHelp("The given name; empty to remove it.", valueName: "text"))
    var givenName: String?

    @Option(help: ArgumentHelp("The middle names; empty to remove them.", valueName: "text"))
    var middleName: String?

    @Option(help: ArgumentHelp("The family name; empty to remove it.", valueName: "text"))
    var familyName: String?

    @Option(
        help: ArgumentHelp("A suffix after the name; empty to remove it.", valueName: "text")
    )
    var nameSuffix: String?

    @Option(help: ArgumentHelp("The nickname; empty to remove it.", valueName: "text"))
    var nickname: String?

    @Flag(inversion: .prefixedNo, help: "Whether other users can find the user.")
    var discoverable: Bool?

    @Option(help: "Whether the account can be used.")
    var status: AccountStatus?

    @OptionGroup var place: EnvironmentOptions
    @OptionGroup var options: OutputOptions

    func validate() throws {
        for (list, none, name) in [
            (email, noEmail, "email"), (phone, noPhone, "phone"), (contact, noContact, "contact"),
        ] where none && !list.isEmpty {
            throw ValidationError("--\(name) and --no-\(name) contradict each other.")
        }
    }

    func run() async throws {
        let user = place.container.user(user)
        let (container, environment) = (place.container, place.environment)
        try await store.administer(.creating) { service in
            // Two calls, and no version is compared: a change by somebody else between them is
            // lost.
            let old = try await service.answer(
                UsersCall(of: container, in: environment, user: user)
            )
            let account = changed(old.first ?? UserAccount(user))
            _ = try await service.answer(SetUserCall(account, of: container, in: environment))
            try options.print([account])
        }
    }

    /// Returns an account with the options applied.
    private func changed(_ old: UserAccount) -> UserAccount {
        var account = old
        if noEmail || !email.isEmpty { account.emails = email }
        if noPhone || !phone.isEmpty { account.phones = phone }
        if noContact || !contact.isEmpty { account.contacts = contact.map { UserLookup($0) } }
        func set(_ part: WritableKeyPath<PersonName, String?>, _ text: String?) {
            if let text { account.name[keyPath: part] = text.isEmpty ? nil : text }
        }
        set(\.namePrefix, namePrefix)
        set(\.givenName, givenName)
        set(\.middleName, middleName)
        set(\.familyName, familyName)
        set(\.nameSuffix, nameSuffix)
        set(\.nickname, nickname)
        if let discoverable { account.isDiscoverable = discoverable }
        if let status { account.status = status }
        return account
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import TidemarkModel
import TidemarkServer

struct AccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts",
        abstract: "Create, list, lock and remove the accounts of a server.",
        subcommands: [
            AccountsAddCommand.self, AccountsListCommand.self, AccountsPasswordCommand.self,
            AccountsLockCommand.self, AccountsUnlockCommand.self, AccountsSignOutCommand.self,
            AccountsInviteCommand.self, AccountsResetCommand.self, AccountsRemoveCommand.self,
        ]
    )
}

/// The account that a command is about, and the store that has it.
struct AccountArgument: ParsableArguments {
    @OptionGroup var store: WrittenStoreArgument

    @Argument(
        help: """
            The e-mail address, or the name (account-…) of an account that an issuer's token created.
            """
    )
    var email: String
}

/// The beginning of the links that a command prints.
struct LinkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The address at which clients reach the server (that of the server that runs).",
            valueName: "url"
        )
    )
    var publicURL: String?

    func validate() throws { _ = try address() }

    /// Returns the link of an answer.
    func link(_ answer: AdministrationAnswer) throws -> String {
        // The answer is a path. A store without a running server does not know the public address.
        try (address() ?? answer.address ?? "http://localhost:8080") + answer.text
    }

    private func address() throws -> String? {
        try publicURL.map { try PublicAddress($0, of: "The option --public-url").text }
    }
}

struct AccountsAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Create an account. The first line of standard input is the password.",
        discussion: "  tidemark accounts add notes.tide ann@example.org --given Ann <password.txt"
    )

    @OptionGroup var account: AccountArgument

    @Option(help: "The given name.")
    var given = ""

    @Option(help: "The family name.")
    var family = ""

    func run() async throws {
        let password = try readPassword()
        try await account.store.administer(
            .addAccount(
                email: account.email,
                password: password,
                givenName: given,
                familyName: family
            )
        )
    }
}

/// The first line of standard input.
private func readPassword() throws -> String {
    // Not an argument, because other processes of the machine can read those.
    guard let line = readLine() else {
        throw CommandError(
            "There is no password on standard input. Pipe one, as in `echo PASSWORD | tidemark …`."
        )
    }
    return line
}

struct AccountsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the accounts.",
        discussion: "  tidemark accounts list notes.tide"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try output.print(
            try await store.administer(.accounts).accounts,
            in: Table([
                ("email", .left), ("name", .left), ("state", .left), ("account", .left),
            ])
        ) { bytes, account in
            bytes.append(literal: "{")
            bytes.append(member: "email", jsonString: account.email)
            bytes.append(member: "givenName", jsonString: account.givenName)
            bytes.append(member: "familyName", jsonString: account.familyName)
            bytes.append(member: "issuer", jsonString: account.issuer)
            bytes.append(member: "subject", jsonString: account.subject)
            bytes.append(member: "locked", jsonBool: account.isLocked)
            bytes.append(member: "account", jsonString: account.id.text)
            bytes.append(literal: "}")
        } row: { account in
            [
                account.email,
                account.subject.map { "\($0) of \(account.issuer ?? "")" }
                    ?? "\(account.givenName) \(account.familyName)",
                account.isLocked ? "locked" : "",
                account.id.text,
            ]
        }
    }
}

struct AccountsPasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password",
        abstract: "Set a password, from standard input, and end all sessions of the account.",
        discussion: "  tidemark accounts password notes.tide ann@example.org <password.txt"
    )

    @OptionGroup var account: AccountArgument

    func run() async throws {
        let password = try readPassword()
        try await account.store.administer(.setPassword(password, account: account.email))
    }
}

struct AccountsLockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock an account: end its sessions and reject its sign-ins.",
        discussion: "  tidemark accounts lock notes.tide ann@example.org"
    )

    @OptionGroup var account: AccountArgument

    func run() async throws {
        try await account.store.administer(.setLocked(true, account: account.email))
    }
}

struct AccountsUnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock an account.",
        discussion: "  tidemark accounts unlock notes.tide ann@example.org"
    )

    @OptionGroup var account: AccountArgument

    func run() async throws {
        try await account.store.administer(.setLocked(false, account: account.email))
    }
}

struct AccountsInviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Print an invitation link. It creates one account and is valid for two weeks.",
        discussion: """
              tidemark accounts invite notes.tide ann@example.org --public-url https://sync.example.org
            """
    )

    @OptionGroup var account: AccountArgument
    @OptionGroup var link: LinkOptions

    func run() async throws {
        try StandardOutput.print(
            try link.link(try await account.store.administer(.invite(email: account.email)))
        )
    }
}

struct AccountsResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Print a link that sets a new password. It works once and is valid for a day.",
        discussion: """
              tidemark accounts reset notes.tide ann@example.org --public-url https://sync.example.org
            """
    )

    @OptionGroup var account: AccountArgument
    @OptionGroup var link: LinkOptions

    func run() async throws {
        try StandardOutput.print(
            try link.link(try await account.store.administer(.reset(account: account.email)))
        )
    }
}

struct AccountsRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove an account with its sessions, couriers and webhooks, and print its name.",
        discussion: """
              tidemark accounts remove notes.tide anna@example.org
              tidemark erase notes.tide --user account-…

            The data of the user stays, and earlier versions of the account stay in the log, until \
            the second command erases both. An account that an issuer's token created comes back \
            with the next token: block the user at the issuer first.
            """
    )

    @OptionGroup var account: AccountArgument

    func run() async throws {
        try StandardOutput.print(
            try await account.store.administer(.removeAccount(account.email)).text
        )
    }
}

struct AccountsSignOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "End all sessions of an account.",
        discussion: "  tidemark accounts sign-out notes.tide ann@example.org"
    )

    @OptionGroup var account: AccountArgument

    func run() async throws {
        try await account.store.administer(.endSessions(account: account.email))
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

#if Server
import TidemarkServer
#endif

/// `tidemark erase`: a store without a user or a zone.
struct EraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Erase every byte of a user or a zone, and list the files it was in.",
        discussion: """
              tidemark erase notes.tide --user _anna --dry-run
              tidemark erase notes.tide --user _anna
              tidemark erase notes.tide --user account-…
              tidemark erase notes.tide --zone Notes --owner _anna

            A zone is erased with its records, shares and assets, from all of history. A user is \
            erased with all zones in all containers and environments, with account, roles, \
            subscriptions, notifications and participations in shares. Records that the user wrote \
            into other users' zones stay, without the user's name. An account of a server is another \
            user in each container: erase it under the name that `tidemark accounts list` prints, \
            and account, sessions and all its users are erased. An account of a CloudKit \
            program has another record name in each container: erase account:NAME once for each, \
            with --container.

            No other process may have the store open, except its server, which then erases: \
            meanwhile it answers requests with a time to retry. The erasure needs space for a \
            second log. If it is interrupted before that log is written, nothing has changed; \
            after that, the next open completes it. Backups, exports and other stores are not changed; the receipt lists what may \
            still hold the data.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Option(help: "The user to erase, by user record name, account:NAME, or name of an account.")
    var user: String?

    @Option(help: "The zone to erase.")
    var zone: String?

    @OptionGroup var database: DatabaseOptions

    @Flag(help: "Print what would be erased, and erase nothing. The store may be open.")
    var dryRun = false

    @OptionGroup var options: OutputOptions

    func validate() throws {
        guard (user == nil) != (zone == nil) else {
            throw ValidationError("Name a user with --user, or a zone with --zone, and not both.")
        }
        if user?.isEmpty ?? false { throw ValidationError("--user names a user; it is empty.") }
        // These options have defaults, so only a value that differs shows that one was given.
        // Only the record name of an account depends on a container.
        let isAccount = user?.hasPrefix("account:") ?? false
        let allowed = isAccount ? DatabaseID(container: database.container) : .standard
        if user != nil, database.id != allowed {
            throw ValidationError(
                "A user is erased from all databases of all containers and environments: leave out "
                    + "--container, --environment, --database and --owner, or name a zone with --zone."
            )
        }
        if let zone, zone.isEmpty || ZoneID(zoneName: zone).isSystem {
            throw ValidationError(
                "--zone names a zone of a database; '\(zone)' is none that a client can have."
            )
        }
        _ = try database.holder
    }

    /// Erases, unless there is nothing to erase.
    private func erase(
        by service: any AdministrationService,
        isPending: Bool = false
    ) async throws -> ErasureReceipt {
        func erase(isDryRun: Bool) async throws -> ErasureReceipt {
            try await Progress.showing("events") { report in
                let call = ErasureCall(subject, isDryRun: isDryRun)
                return try await service.answer(call, report: report)
            }
        }
        // The check costs one read of the log; an erasure rewrites all of it.
        if !isPending {
            let estimate = try await erase(isDryRun: true)
            // An address has no zone and no record, unless a program names users by addresses.
            if estimate.zoneCount == 0, estimate.removedCount == 0 { try await checkAddress() }
            if estimate.isEmpty { throw nothingToErase }
            if dryRun { return estimate }
        }
        return try await erase(isDryRun: dryRun)
    }

    func run() async throws {
        let receipt = try await store.administerFiles { service in
            // A server has no pending erasure: its store was opened for writing, which completes
            // one first.
            let isServed = service is StoreAdministration == false
            // An erasure that was cut off must be ended, even if the check would find nothing more
            // to erase.
            let isPending = try !isServed && Store.pendingErasure(at: store.store) != nil
            return try await erase(by: service, isPending: isPending)
        }
        try options.print(
            json: { $0.append(json: receipt, of: self) },
            lines: { _ in lines(of: receipt) }
        )
    }

    /// Throws if the user is named by the address of an account.
    ///
    /// Something may name the address, such as the content of an administrator's call. Erasing only
    /// that looks as if the account and its data were gone.
    private func checkAddress() async throws {
        #if Server
        guard let user, user.contains("@") else { return }
        let accounts = try await store.administer(.accounts).accounts
        guard let account = accounts.first(where: { $0.hasAddress(user) }) else { return }
        throw CommandError(
            "'\(user)' is the address of an account, not the name of a user. The store was not changed. "
                .printable
                + "To erase the account with all its users, give its name: --user \(account.id.text)."
        )
        #endif
    }

    private var nothingToErase: CommandError {
        if let user {
            return CommandError(
                ("The store has nothing of the user '\(user)', and was not changed. `tidemark users list "
                    + "\(store.store)` lists users.").printable
            )
        }
        return CommandError(
            ("The store has nothing of a zone '\(zone ?? "")' in \(database.id), and was not changed. "
                + "`tidemark zones list \(store.store)` lists zones.").printable
        )
    }

    private var subject: ErasureSubject {
        if let user { return .user(database.container.user(user)) }
        return .zone(database.zone(zone), in: database.id)
    }
}

// MARK: - The receipt

extension EraseCommand {
    private func lines(of receipt: ErasureReceipt) -> [String] {
        let name = user.map { "the user \($0)" } ?? "the zone \(zone ?? "") of \(database.id)"
        var table = Table([("place", .left), ("removed", .right), ("", .left)])
        for row in rows(of: receipt) { table.append(row) }
        return ["\(dryRun ? "Would erase" : "Erased") \(name).".printable]
            + table.lines + ["", "Not reached:"]
            + reach(of: receipt).map { "- " + $0 }
    }

    private func rows(of receipt: ErasureReceipt) -> [[String]] {
        let length =
            dryRun
            ? "" : ", \(receipt.segments.byteCount) bytes became \(receipt.newByteCount)"
        return [
            ["zones", "\(receipt.zoneCount)", ""],
            [
                "events of the log", "\(receipt.removedCount)",
                "of \(receipt.eventCount); \(receipt.redactedCount) others without what named it",
            ],
            ["segments", "\(receipt.segments.count)", "written anew" + length],
            ["dictionaries", "\(receipt.dictionaryCount)", "made anew from what stays"],
            ["entries of the journal", "\(receipt.journalCount)", ""],
            ["assets", "\(receipt.assets.count)", "\(receipt.assets.byteCount) bytes"],
            ["files of views", "\(receipt.views.count)", "made anew by the next opening"],
            ["files of query indexes", "\(receipt.queries.count)", "made anew by the next query"],
        ]
    }

    /// Returns the data that an erasure cannot reach.
    fileprivate func reach(of receipt: ErasureReceipt) -> [String] {
        var reach: [String] = []
        if receipt.sharedSegmentCount + receipt.sharedAssetCount > 0 {
            reach.append(
                "forks: \(receipt.sharedSegmentCount) segments and \(receipt.sharedAssetCount) "
                    + "assets have another name outside of this store; erase there too"
            )
        }
        if receipt.mentionCount > 0 {
            reach.append(
                "records of others: \(receipt.mentionCount) events have the user's name or an "
                    + "address in a field or a name"
            )
        }
        // A user's name does not tell of which account it is.
        if let user, !UserID(user).isServerAccount {
            reach.append(
                "the account with which the user signs in to a server: erase it under its own name, "
                    + "as `tidemark accounts list` prints it"
            )
        }
        return reach + [
            "backups, restored and copied stores, exports, and what apps have projected from the log",
            "devices, which keep what they have fetched until they ask again",
            "snapshots of the file system, and what a disk keeps of removed files",
        ]
    }
}

extension [UInt8] {
    fileprivate mutating func append(json receipt: ErasureReceipt, of command: EraseCommand) {
        append(literal: "{")
        append(member: "dryRun", jsonBool: command.dryRun)
        append(member: "user", jsonString: command.user)
        if let zone = command.zone {
            append(member: "zone", jsonString: zone)
            append(member: "database", jsonString: "\(command.database.id)")
        }
        append(member: "zones", jsonNumber: receipt.zoneCount)
        append(member: "events", jsonNumber: receipt.eventCount)
        append(member: "removedEvents", jsonNumber: receipt.removedCount)
        append(member: "redactedEvents", jsonNumber: receipt.redactedCount)
        append(member: "segments", jsonNumber: receipt.segments.count)
        append(member: "bytesBefore", jsonNumber: receipt.segments.byteCount)
        if !command.dryRun { append(member: "bytesAfter", jsonNumber: receipt.newByteCount) }
        append(member: "dictionaries", jsonNumber: receipt.dictionaryCount)
        append(member: "journalEntries", jsonNumber: receipt.journalCount)
        append(member: "assets", jsonNumber: receipt.assets.count)
        append(member: "assetBytes", jsonNumber: receipt.assets.byteCount)
        append(member: "viewFiles", jsonNumber: receipt.views.count)
        append(member: "queryFiles", jsonNumber: receipt.queries.count)
        append(member: "expiredZones", jsonNumber: receipt.expiredZoneCount)
        append(member: "sharedSegments", jsonNumber: receipt.sharedSegmentCount)
        append(member: "sharedAssets", jsonNumber: receipt.sharedAssetCount)
        append(member: "mentions", jsonNumber: receipt.mentionCount)
        append(member: "notReached")
        append(jsonList: command.reach(of: receipt)) { $0.append(jsonString: $1) }
        append(literal: "}")
    }
}

extension ErasureReceipt {
    /// True if there was nothing to erase.
    fileprivate var isEmpty: Bool {
        // Views and query indexes do not count: every erasure removes all of them.
        zoneCount == 0 && removedCount == 0 && redactedCount == 0 && journalCount == 0
            && assets.count == 0
    }
}

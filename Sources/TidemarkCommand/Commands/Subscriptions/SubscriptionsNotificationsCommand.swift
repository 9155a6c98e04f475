// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// `tidemark subscriptions notifications`: shows a user's notifications.
struct SubscriptionsNotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "Print a user's notifications, and mark them as read.",
        discussion: """
              tidemark subscriptions notifications notes.tide --as _anna --device laptop
              tidemark subscriptions notifications notes.tide --as _anna --since t.AQEj…
              tidemark subscriptions notifications notes.tide --as _anna --mark-read 12-y73eoz

            Prints one line for each unread notification, oldest first, as the client of --as and \
            --device gets them: without its own changes. As JSON, the last line is \
            {"token","moreComing"}; pass the token to --since for later ones. Nothing is written \
            unless --mark-read or --catch-up is given.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Option(help: ArgumentHelp("Only notifications after this token.", valueName: "token"))
    var since: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The number of notifications; all, unless given.",
            valueName: "notifications"
        )
    )
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            "Mark the notification with this id as read first. May be repeated.",
            valueName: "id"
        )
    )
    var markRead: [String] = []

    @Flag(help: "First make the notifications for everything in the log.")
    var catchUp = false

    @OptionGroup var place: EnvironmentOptions
    @OptionGroup var caller: CallerOptions
    @OptionGroup var options: OutputOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1.") }
        if let since { _ = try readToken(since) }
    }

    func run() async throws {
        let caller = caller.caller(of: place.caller(caller.user, of: .private).database)
        guard !markRead.isEmpty || catchUp else {
            return try await store.argument.askAsApp { try await print($0, caller) }
        }
        try await store.act { service, administration in
            // Only the process that writes makes notifications. A store that is read shows those
            // that a writer has made.
            if catchUp { _ = try await administration.answer(MakeNotificationsCall()) }
            if !markRead.isEmpty {
                // One call has processed all ids. The first error ends the command, and the other
                // ids stay marked.
                for answer in try await service.markNotificationsRead(markRead, as: caller) {
                    _ = try answer.get()
                }
            }
            try await print(service, caller)
        }
    }

    private func print(_ service: any DatabaseService, _ caller: Caller) async throws {
        var output = StandardOutput()
        let isJSON = options.isJSON(output)
        var table = Table([
            ("id", .left), ("subscription", .left), ("what", .left), ("record or zone", .left),
            ("text", .left),
        ])
        var token = since.flatMap { ChangeToken($0) }
        var rest = limit ?? .max
        while true {
            let request = NotificationChangesRequest(
                since: token,
                limit: limit == nil ? nil : rest
            )
            let page = try await service.notificationChanges(request, as: caller)
            token = page.token
            rest -= page.notifications.count
            for notification in page.notifications {
                if isJSON {
                    try output.line { $0.append(json: notification) }
                } else {
                    table.append(notification.cells)
                }
            }
            guard page.moreComing, rest > 0 else {
                if isJSON { try output.line { $0.append(end: page) } }
                break
            }
        }
        // After the last page, because the widths of the columns depend on all rows.
        if !isJSON { for line in table.lines { try output.line(line) } }
        try output.flush()
    }
}

extension Subscription.Notification {
    /// The notification as a row for a person.
    fileprivate var cells: [String] {
        [
            id ?? "", subscriptionID, reason.map { "\($0)" } ?? kind.rawValue,
            recordID?.description ?? zone?.description ?? "",
            content.alert.text ?? content.title.text ?? "",
        ]
    }
}

extension [UInt8] {
    /// Appends the end of a page.
    fileprivate mutating func append(end page: NotificationChanges) {
        append(literal: "{")
        append(member: "token", jsonString: page.token.description)
        append(member: "moreComing", jsonBool: page.moreComing)
        append(literal: "}")
    }
}

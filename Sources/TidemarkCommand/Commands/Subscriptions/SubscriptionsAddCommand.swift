// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark subscriptions add`: adds a subscription of a user.
struct SubscriptionsAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Save a subscription. It replaces one with the same id.",
        discussion: """
              tidemark subscriptions add notes.tide open --type Item --where 'done == 0' \\
                  --on create --on update --alert 'Something to do' --keys title,due
              tidemark subscriptions add notes.tide lists --zone lists --content-available
              tidemark subscriptions add notes.tide everything

            A subscription is about records of a type (--type, and --where, --on, --once, --zone), \
            about a custom zone (--zone alone, or with --type and --whole-zone), or about all \
            custom zones of a private database (neither; with --type and --whole-database its \
            records of that type). It makes notifications for later commits. Prints \
            {"saved":SUBSCRIPTION}. The store is created if it does not exist.
            """
    )

    /// The change to a record that fires the subscription.
    enum Event: String, ExpressibleByArgument, CaseIterable {
        case create
        case update
        case delete

        var option: Subscription.Options {
            switch self {
            case .create: .create
            case .update: .update
            case .delete: .delete
            }
        }
    }

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The subscription's id.")
    var id: String

    @Option(help: ArgumentHelp("The type of the records.", valueName: "name"))
    var type: String?

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "The predicate that records must match; all records, unless given.",
            valueName: "predicate"
        ),
        transform: readPredicate
    )
    var predicate: Query.Predicate?

    @Option(
        help: "The change that makes a notification; any change, unless given. May be repeated."
    )
    var on: [Event] = []

    @Flag(help: "End with the first notification.")
    var once = false

    @Option(help: ArgumentHelp("The zone.", valueName: "name"))
    var zone: String?

    @Flag(help: "With --type: changes of the zone by records of that type, not each record.")
    var wholeZone = false

    @Flag(help: "With --type: changes of the database by records of that type.")
    var wholeDatabase = false

    @Option(help: ArgumentHelp("The text to show.", valueName: "text"))
    var alert: String?

    @Option(help: ArgumentHelp("The text above it.", valueName: "text"))
    var title: String?

    @Option(help: ArgumentHelp("The sound to play.", valueName: "name"))
    var sound: String?

    @Flag(help: "Change the app's badge.")
    var badge = false

    @Flag(help: "Wake the app to fetch.")
    var contentAvailable = false

    @Option(
        help: ArgumentHelp(
            "The fields that notifications carry, separated by commas; at most three.",
            valueName: "fields"
        )
    )
    var keys: String?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var caller: CallerOptions
    @OptionGroup var options: OutputOptions

    private var isQuery: Bool { type != nil && !wholeZone && !wholeDatabase }

    func validate() throws {
        if wholeZone, zone == nil { throw ValidationError("--whole-zone needs --zone.") }
        if wholeDatabase, zone != nil {
            throw ValidationError("--whole-database cannot be combined with --zone.")
        }
        if !isQuery, predicate != nil || !on.isEmpty || once {
            throw ValidationError("--where, --on and --once are about records: give --type alone.")
        }
    }

    private var subscription: Subscription {
        let zoneID = zone.map { ZoneID(zoneName: $0) }
        let kind: Subscription.Kind
        if let type, isQuery {
            var chosen = on.reduce(into: Subscription.Options()) { $0.insert($1.option) }
            if on.isEmpty { chosen = [.create, .update, .delete] }
            if once { chosen.insert(.once) }
            kind = .query(
                Subscription.RecordQuery(
                    recordType: type,
                    predicate: predicate ?? .always,
                    options: chosen,
                    zone: zoneID
                )
            )
        } else if let zoneID {
            kind = .zone(zoneID, recordType: type.map { Name($0) })
        } else {
            kind = .database(recordType: type.map { Name($0) })
        }
        var content = NotificationContent()
        content.alert.text = alert
        content.title.text = title
        content.soundName = sound
        content.badges = badge
        content.isContentAvailable = contentAvailable
        content.desiredKeys = keys?.split(separator: ",").map(String.init) ?? []
        return Subscription(id, kind, content: content)
    }

    func run() async throws {
        try await store.act(.creating) { service in
            let request = ModifySubscriptionsRequest(saves: [subscription])
            let caller = caller.caller(of: database.id)
            let result = try await service.modifySubscriptions(request, as: caller)
            let saved = try result.saves[0].get()
            try options.print { line in
                line.append(literal: "{\"saved\":")
                line.append(json: saved)
                line.append(literal: "}")
            } lines: { _ in
                ["saved \(saved.id.printable)"]
            }
        }
    }
}

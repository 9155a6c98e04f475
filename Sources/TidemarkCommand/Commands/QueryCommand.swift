// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkLog
import TidemarkModel

/// `tidemark query`: the records that fulfil a predicate.
struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Print the records of a type that match a predicate, now or at an earlier point.",
        discussion: """
              tidemark query notes.tide --type Item
              tidemark query notes.tide --type Item --zone lists --limit 10 \\
                  --where 'count > 1 AND title BEGINSWITH "Oat"' --sort count:desc --sort title
              tidemark query notes.tide --type Shop --sort place:52.52,13.41 --at 2026-02-03T04:05:06Z

            The predicate is a format string as in CloudKit, with some additions \
            (Docs/queries.md). Prints one record per line, as `record` does, in the order of \
            --sort and then of names. A terminal gets a table with the fields of --keys, or all \
            fields. The command reads every record of the zones, because it writes no index. The \
            status is 1 if the schema rejects the query.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("The type of the records.", valueName: "name"))
    var type: String

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "The predicate that records must match; all records, unless given.",
            valueName: "predicate"
        ),
        transform: readPredicate
    )
    var predicate = Query.Predicate.always

    @Option(
        help: ArgumentHelp(
            """
            What to sort by: a field, or a location field and the place from which distances are \
            measured (place:52.52,13.41). Either may end with :desc. May be given again.
            """,
            valueName: "order"
        ),
        transform: readOrder
    )
    var sort: [Query.SortDescriptor] = []

    @Option(help: ArgumentHelp("The zone; all of the database, unless given.", valueName: "name"))
    var zone: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The number of records; all, unless given.", valueName: "records")
    )
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            "The fields to print, separated by commas; all, unless given.",
            valueName: "fields"
        )
    )
    var keys: String?

    @OptionGroup var user: AskingUser
    @OptionGroup var point: PointOption
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1.") }
    }

    private var desiredKeys: [String]? { keys?.split(separator: ",").map(String.init) }

    func run() async throws {
        try await store.ask { service in
            let position = try await point.position(by: service)
            var output = StandardOutput()
            var isEmpty = true
            if options.isJSON(output) {
                try await visit(service, position) { record in
                    isEmpty = false
                    try output.line { $0.append(json: record) }
                }
            } else {
                // The widths of a table depend on all rows, so all matches are held in memory. JSON
                // is printed page by page.
                var records: [Record] = []
                try await visit(service, position) { records.append($0) }
                isEmpty = records.isEmpty
                for line in table(of: records).lines { try output.line(line) }
            }
            try output.flush()
            if isEmpty { try await database.noteIfEmpty(by: service) }
        }
    }

    /// Visits the matches, page by page.
    private func visit(
        _ service: any AdministrationService,
        _ position: SequenceNumber?,
        _ visit: (Record) throws -> Void
    ) async throws {
        let caller = user.caller(of: database.id)
        var left = limit ?? .max
        var request = QueryRequest(
            Query(recordType: type, predicate: predicate, sortDescriptors: sort),
            in: zone.map(database.zone),
            desiredKeys: desiredKeys
        )
        repeat {
            // The store cuts a page at its own limit, so `.max` asks for all that fits.
            request.limit = left
            let page = try await service.answer(
                QueryCall(request, as: caller, asOf: position)
            )
            for record in page.records { try visit(record) }
            left -= page.records.count
            request.cursor = page.cursor
        } while request.cursor != nil && left > 0
    }

    /// Returns a table with a column for each field that was requested, or that a record has.
    private func table(of records: [Record]) -> Table {
        // Sorted, because a set has another order in every process.
        let met = Set(records.flatMap { $0.fields.present.map { Name($0.name) } }).sorted()
        let fields = desiredKeys ?? met.map(\.string)
        var columns: [(heading: String, alignment: Table.Alignment)] = [("record", .left)]
        if zone == nil { columns.insert(("zone", .left), at: 0) }
        var table = Table(columns + fields.map { ($0.printable, .left) })
        for record in records {
            var row = [record.recordID.recordName]
            if zone == nil { row.insert(record.zone.zoneName, at: 0) }
            table.append(row + fields.map { record[$0]?.wholeText ?? "" })
        }
        return table
    }
}

/// Reads a predicate of the command line.
func readPredicate(_ text: String) throws -> Query.Predicate {
    do throws(SyncError) {
        return try Query.Predicate(format: text)
    } catch {
        throw ValidationError(error.message)
    }
}

/// Reads a criterion of an order.
private func readOrder(_ text: String) throws -> Query.SortDescriptor {
    let direction = [":asc", ":desc"].first { text.hasSuffix($0) }
    let isAscending = direction != ":desc"
    let subject = text.dropLast(direction?.count ?? 0)
    guard let colon = subject.lastIndex(of: ":") else {
        return Query.SortDescriptor(Query.Key(String(subject)), ascending: isAscending)
    }
    let key = Query.Key(String(subject[..<colon]))
    let rest = subject[subject.index(after: colon)...]
    let numbers = rest.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
    guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1],
        // `Double` also reads `nan` and `inf`. The ranges reject both.
        (-90...90).contains(latitude), (-180...180).contains(longitude)
    else {
        throw ValidationError(
            """
            '\(text)' is not an order. An order is a field (count), or a location field with a place \
            in degrees (place:52.52,13.41): a latitude from -90 to 90 and a longitude from -180 to 180. \
            Either may end with :asc or :desc.
            """
        )
    }
    let place = Location(latitude: latitude, longitude: longitude)
    return Query.SortDescriptor(key, distanceFrom: place, ascending: isAscending)
}

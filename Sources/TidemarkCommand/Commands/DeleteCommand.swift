// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark delete`: records, as a client would delete them.
struct DeleteCommand: AsyncParsableCommand, ModifyCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete records by name, or those on standard input.",
        discussion: """
              tidemark delete notes.tide milk bread --zone lists
              tidemark delete notes.tide milk --zone lists --tag 4-y73eoz

            Records that refer to a deleted one with DELETE_SELF are deleted too. Prints \
            {"deleted":{…}} or {"failed":{…},"error":{…}} for each record. The status is 1 if one \
            failed. Deleting a record that does not exist succeeds. The log keeps deleted records: \
            `record --at` prints them.

            With - in place of names, records are read as `record`, `export` and `changes` print \
            them. A record with a change tag is deleted only in that version.

              tidemark export notes.tide --zone lists | grep draft |
                  tidemark delete notes.tide -
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The names of the records, or - for records on standard input.")
    var names: [String]

    @Option(help: ArgumentHelp("The records' zone.", valueName: "name"))
    var zone: String?

    @Option(help: ArgumentHelp("Delete only the version with this change tag.", valueName: "tag"))
    var tag: String?

    @OptionGroup var options: AtomicOption
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var caller: CallerOptions
    @OptionGroup var output: OutputOptions

    // Only alone: among other names, a hyphen is the name of a record.
    private var readsInput: Bool { names == ["-"] }

    func validate() throws {
        if readsInput, zone != nil || tag != nil {
            throw ValidationError(
                "Records on standard input name their own zone and type. Leave out --zone and "
                    + "--tag."
            )
        }
        if tag != nil, names.count > 1 {
            throw ValidationError("--tag names the version of one record; name that record alone.")
        }
    }

    func run() async throws {
        let requests =
            readsInput ? try readRequests(Self.add) : namedRequests
        try await store.act { service in try await send(requests, to: service) }
    }

    private var namedRequests: [ModifyRecordsRequest] {
        var requests = RecordRequests(isAtomic: options.atomic, limits: Limits())
        let zone = database.zone(zone)
        for name in names {
            let id = RecordID(recordName: name, zone: zone)
            requests.add(RecordDeletion(id, changeTag: tag.map { RecordChangeTag($0) }))
        }
        return requests.requests
    }

    /// Adds the deletion of the record that a line of standard input names, whatever the line's
    /// content.
    private static func add(_ line: RecordLine, to requests: inout RecordRequests) {
        switch line {
        case .record(let record), .deleted(let record): requests.add(record.deletion)
        case .end: break
        }
    }
}

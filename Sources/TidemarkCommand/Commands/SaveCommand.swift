// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark save`: records, as a client would save them.
struct SaveCommand: AsyncParsableCommand, ModifyCommand {
    static let configuration = CommandConfiguration(
        commandName: "save",
        abstract: "Save a record, or records from standard input.",
        discussion: """
              tidemark save notes.tide milk --type Item --zone lists title=Milk count=2
              tidemark save notes.tide milk --type Item --zone lists --tag 4-y73eoz \\
                  price:DOUBLE=1.5 due:TIMESTAMP=2026-02-03T04:05:06Z \\
                  shop:REFERENCE=corner 'tags=["a","b"]' photo:ASSET=@milk.jpg --remove count

            All rules for apps apply: change tags, atomic zones, the schema, roles. Prints \
            {"saved":RECORD} or {"failed":{…},"error":{…}} for each record, with the server's \
            record if it was a conflict. The status is 1 if one failed. The store is created if it \
            does not exist. A file that is named as an asset is stored first, as an app would send \
            it.

            With - in place of a name, records are read as `record`, `export`, `changes` and \
            `save` print them, one JSON object per line. A line's change tag counts under policies \
            that compare tags. A field that is null is removed. A field that is left out stays, \
            unless the policy replaces the record. {"deleted":{…}} deletes.

              tidemark record notes.tide milk --zone lists | sed s/Milk/Oat/ |
                  tidemark save notes.tide -
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The record's name, or - for records on standard input.")
    var name: String

    @Argument(help: FieldArgument.explanation)
    var fields: [String] = []

    @Option(help: ArgumentHelp("The record's type.", valueName: "name"))
    var type: String?

    @Option(help: ArgumentHelp("The record's zone.", valueName: "name"))
    var zone: String?

    @Option(help: ArgumentHelp("A field to remove.", valueName: "field"))
    var remove: [String] = []

    @Option(help: ArgumentHelp("The record above this one in its tree.", valueName: "name"))
    var parent: String?

    @Flag(help: "Remove the record's parent.")
    var noParent = false

    @Option(
        help: ArgumentHelp("The change tag of the known version.", valueName: "tag")
    )
    var tag: String?

    @Option(
        help: """
            How an existing record is treated. if-unchanged: save only over the version of the tag. \
            changed-keys: set the named fields. all-keys: the same, with all fields. merge: save if \
            no named field was changed since the tag. replace-if-unchanged, replace: replace the \
            whole record, with or without comparing tags.
            """
    )
    var policy = Policy.ifUnchanged

    @OptionGroup var options: AtomicOption
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var caller: CallerOptions
    @OptionGroup var output: OutputOptions

    /// The policies as the command line spells them.
    enum Policy: String, ExpressibleByArgument, CaseIterable {
        case ifUnchanged = "if-unchanged"
        case changedKeys = "changed-keys"
        case allKeys = "all-keys"
        case merge
        case replaceIfUnchanged = "replace-if-unchanged"
        case replace

        /// The store's policy for the option.
        var policy: SavePolicy {
            switch self {
            case .ifUnchanged: .ifServerRecordUnchanged
            case .changedKeys: .changedKeys
            case .allKeys: .allKeys
            case .merge: .merge
            case .replaceIfUnchanged: .replaceIfUnchanged
            case .replace: .replace
            }
        }
    }

    func validate() throws {
        if name == "-" {
            guard type == nil, zone == nil, parent == nil, !noParent, tag == nil, remove.isEmpty,
                fields.isEmpty
            else {
                throw ValidationError(
                    "Records on standard input name their own zone and type. Leave out --type, "
                        + "--zone, --parent, --no-parent, --tag, --remove and fields."
                )
            }
            return
        }
        guard type != nil else { throw ValidationError("Name the record's type with --type.") }
        if noParent, parent != nil {
            throw ValidationError("--parent and --no-parent contradict each other.")
        }
        // Checked before the store is opened, which may create it.
        for field in fields { _ = try FieldArgument(field) }
    }

    func run() async throws {
        if name == "-" {
            // Before the store is opened, so that its lock is not held while another program writes
            // the input.
            let requests = try readRequests(add)
            return try await store.act(.creating) { service in
                try await send(requests, to: service)
            }
        }
        // Before the store is opened, too: a mistake in a field or a file must not leave a new
        // store.
        let files = try assetFiles()
        _ = try Fields(arguments(naming: files.map { _ in Self.noAsset }), removing: remove)
        try await store.act(.creating) { service in
            // An asset is stored before the save that names it. If the save then fails, collection
            // of assets removes the bytes later.
            var assets: [AssetReference] = []
            for file in files { assets.append(try await send(file, to: service)) }
            let fields = try Fields(arguments(naming: assets), removing: remove)
            let request = ModifyRecordsRequest(saves: [save(fields)], isAtomic: options.atomic)
            try await send([request], to: service)
        }
    }

    private var zoneID: ZoneID { database.zone(zone) }

    private typealias OpenFile = AsyncThrowingStream<[UInt8], any Error>

    /// Stands for an asset that is not stored yet.
    private static let noAsset = AssetReference(
        checksum: [UInt8](repeating: 0, count: 32),
        byteCount: 0
    )

    /// Opens the files that fields name, in the order of the fields.
    private func assetFiles() throws -> [OpenFile] {
        try fields.compactMap { FieldArgument.assetFile(in: $0) }
            .map { try AssetFile.pieces(of: $0.path) }
    }

    /// Returns the fields with assets in the places of their files.
    private func arguments(naming assets: [AssetReference]) -> [String] {
        var rest = assets[...]
        return fields.map { field in
            guard let (left, _) = FieldArgument.assetFile(in: field), let asset = rest.popFirst()
            else { return field }
            var json: [UInt8] = []
            json.append(json: .asset(asset))
            return "\(left)=\(String(decoding: json, as: UTF8.self))"
        }
    }

    private func send(
        _ file: OpenFile,
        to service: any DatabaseService
    ) async throws -> AssetReference {
        try await service.uploadAsset(
            file,
            UploadAssetRequest(zone: zoneID),
            as: caller.caller(of: database.id)
        )
    }

    /// The save that the arguments describe.
    private func save(_ fields: Fields) -> RecordSave {
        RecordSave(
            RecordID(recordName: name, zone: zoneID),
            type: type ?? "",
            fields: fields,
            parent: noParent ? .removed : parent.map { .set(Name($0)) } ?? .unchanged,
            changeTag: tag.map { RecordChangeTag($0) },
            policy: policy.policy
        )
    }

    /// Takes in a line of standard input.
    private func add(
        _ line: RecordLine,
        to requests: inout RecordRequests
    ) throws(JSONError) {
        switch line {
        case .record(let record):
            var save = try record.save(policy.policy)
            // A record that is replaced as a whole has the parent that its line names, or none.
            if save.parent == .unchanged, policy == .replace || policy == .replaceIfUnchanged {
                save.parent = .removed
            }
            requests.add(save)
        case .deleted(let record):
            requests.add(record.deletion)
        case .end:
            break
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// The outcome of each item of a request: one line each for programs, a table for people.
struct ItemOutput {
    private var lines: [[UInt8]] = []
    private var table: Table
    private var failureCount = 0
    private let options: OutputOptions

    init(_ options: OutputOptions) {
        self.options = options
        table = Table([("result", .left), ("item", .left), ("tag or reason", .left)])
    }

    /// True if no item was added yet.
    var isEmpty: Bool { lines.isEmpty }

    /// Adds one item: the word for its success, its id, and the resulting record.
    mutating func add(
        _ done: StaticString,
        _ item: SyncError.Item,
        _ outcome: Result<Record?, SyncError>
    ) {
        var line: [UInt8] = []
        switch outcome {
        case .success(let record):
            line.append(literal: "{\"")
            line.append(literal: done)
            line.append(literal: "\":")
            // Deletions and zones have no record, so the item is printed.
            if let record { line.append(json: record) } else { line.append(json: item) }
            line.append(literal: "}")
            table.append(["\(done)", item.text, record?.changeTag?.text ?? ""])
        case .failure(let failure):
            let error = failure.forCommandLine(about: item)
            failureCount += 1
            line.append(literal: "{\"failed\":")
            line.append(json: item)
            line.append(member: "error")
            line.append(json: error)
            line.append(literal: "}")
            table.append(["failed", item.text, error.description])
        }
        lines.append(line)
    }

    /// Prints everything; throws, for status 1, if an item failed.
    func finish() throws {
        var output = StandardOutput()
        if options.isJSON(output) {
            for line in lines { try output.line { $0.append(contentsOf: line) } }
        } else {
            for line in table.lines { try output.line(line) }
        }
        try output.flush()
        // Last, after all outcomes are printed: items that succeeded are saved whatever the status.
        if failureCount > 0 { throw ExitCode.failure }
    }
}

extension SyncError {
    /// The error with a command or an argument as its remedy, if one helps.
    fileprivate func forCommandLine(about item: Item) -> SyncError {
        if code == .invalidArguments, message.hasPrefix("invalid attempt to set value type") {
            return SyncError(
                code,
                message,
                remedy: "NAME:TYPE=VALUE names the type of a value, such as title:STRING=1."
            )
        }
        // An error with a remedy of its own is about a zone that the user cannot create.
        guard case .record(let record) = item, code == .zoneNotFound, remedy == code.remedy,
            !userDidResetEncryptedData, record.zone.ownerName == ZoneID.currentOwner
        else { return self }
        let name = record.zone.zoneName.shellWord
        return SyncError(
            code,
            message,
            remedy: "Create it with `tidemark zones create STORE \(name)`; `tidemark zones list "
                + "STORE` lists the zones that exist."
        )
    }
}

extension SyncError.Item {
    /// The item for a person.
    fileprivate var text: String {
        switch self {
        case .record(let record): record.description.printable
        case .zone(let zone): zone.description.printable
        case .subscription(let id): id.printable
        }
    }
}

extension [UInt8] {
    /// Appends the identity of an item.
    mutating func append(json item: SyncError.Item) {
        append(literal: "{")
        switch item {
        case .record(let record):
            append(json: record.zone)
            append(member: "recordName", jsonString: record.recordName)
        case .zone(let zone):
            append(json: zone)
        case .subscription(let id):
            append(literal: "\"subscriptionID\":")
            append(jsonString: id)
        }
        append(literal: "}")
    }

    /// Appends the members that name a zone.
    private mutating func append(json zone: ZoneID) {
        append(literal: "\"zone\":")
        append(jsonString: zone.zoneName)
        if zone.ownerName != ZoneID.currentOwner {
            append(member: "zoneOwner", jsonString: zone.ownerName)
        }
    }

    /// Appends an error: its code by name and number, its cause, its remedy, and the records of a
    /// conflict.
    fileprivate mutating func append(json error: SyncError) {
        append(literal: "{")
        append(member: "code", jsonString: "\(error.code)")
        append(member: "number", jsonNumber: error.code.rawValue)
        append(member: "message", jsonString: error.message)
        append(member: "remedy", jsonString: error.remedy)
        append(member: "retryAfter", jsonNumber: error.retryAfter?.inSeconds)
        if let conflict = error.conflict {
            append(member: "serverRecord")
            append(json: conflict.server)
            if let ancestor = conflict.ancestor {
                append(member: "ancestorRecord")
                append(json: ancestor)
            }
        }
        append(literal: "}")
    }
}

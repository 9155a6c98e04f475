// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The binary form of a method's requests and answers.
struct RecordsForm<Request, Answer>: Sendable {
    let writeRequest: @Sendable (Request) throws(SyncError) -> WireMessage
    let readRequest: @Sendable ([UInt8]) throws(WireFormError) -> Request
    /// Returns `nil` for an answer that the form cannot hold.
    let writeAnswer: @Sendable (Answer) throws(SyncError) -> WireMessage?
    let readAnswer: @Sendable ([UInt8]) throws(WireFormError) -> Answer
}

/// The kinds of messages in the binary form.
enum MessageKind: UInt8 {
    case changesRequest = 1
    case changesAnswer = 2
    case fetchRequest = 3
    case fetchAnswer = 4
    case modifyRequest = 5
    case modifyAnswer = 6

    /// The first byte of every message.
    static let format: UInt8 = 1
}

extension WireWriter {
    mutating func begin(_ kind: MessageKind) {
        append(MessageKind.format)
        append(kind.rawValue)
    }
}

extension WireReader {
    /// Begins to read a message of a kind.
    init(_ bytes: [UInt8], _ kind: MessageKind) throws(WireFormError) {
        self.init(bytes)
        let format = try byte()
        guard format == MessageKind.format else {
            throw WireFormError("format \(MessageKind.format) is expected, not \(format)", at: 0)
        }
        let found = try byte()
        guard found == kind.rawValue else {
            throw WireFormError(
                "a message of kind \(kind.rawValue) is expected, not \(found)",
                at: 1
            )
        }
    }
}

// MARK: - Items

/// The zone of the previous item: an item only writes its zone if it differs.
struct ZoneMemory {
    private var last: ZoneID?

    /// Remembers a zone; returns whether it is another one than before.
    mutating func changes(to zone: ZoneID) -> Bool {
        // Most lists have one zone, whose name and owner can be longer than the name of a record.
        if last == zone { return false }
        last = zone
        return true
    }

    /// Returns the zone of an item, and reads it if the item has one.
    mutating func zone(
        follows: Bool,
        from reader: inout WireReader
    ) throws(WireFormError) -> ZoneID {
        // Both sides keep the same memory: it changes only with an item that has a zone, and a
        // failed item has none.
        if follows { last = try reader.zone() }
        guard let last else {
            throw WireFormError("the first item does not name its zone", at: reader.offset)
        }
        return last
    }
}

/// Bits of an item's first byte.
enum ItemFlags {
    static let hasZone: UInt8 = 1
    static let hasTag: UInt8 = 2
    static let failed: UInt8 = 4
    static let setsParent: UInt8 = 8
    static let removesParent: UInt8 = 16
    static let hasShare: UInt8 = 32
}

/// The outcome of an item in the form of a message: its error is JSON already.
enum WireOutcome<Success: Sendable>: Sendable {
    case success(Success)
    case failure([UInt8])

    init(_ result: Result<Success, SyncError>) throws(SyncError) {
        switch result {
        case .success(let value): self = .success(value)
        // Encoded before the message is written, because the closure of `WireMessage` cannot throw.
        case .failure(let error): self = .failure(try WireCoding.bytes(of: error))
        }
    }

    /// Prepares the outcomes of a list.
    static func all(
        _ results: [Result<Success, SyncError>]
    ) throws(SyncError) -> [WireOutcome<Success>] {
        var outcomes: [WireOutcome<Success>] = []
        outcomes.reserveCapacity(results.count)
        for result in results { outcomes.append(try WireOutcome(result)) }
        return outcomes
    }
}

extension WireWriter {
    mutating func append(_ outcomes: [WireOutcome<Record>]) {
        append(UInt32(truncatingIfNeeded: outcomes.count))
        var zones = ZoneMemory()
        for outcome in outcomes {
            switch outcome {
            case .failure(let json): appendFailure(json)
            case .success(let record):
                let hasZone = zones.changes(to: record.zone)
                append(hasZone ? ItemFlags.hasZone : 0)
                if hasZone { append(record.zone) }
                append(record.changeTag)
                append(blob: record.body.bytes)
            }
        }
    }

    mutating func append(_ outcomes: [WireOutcome<RecordID>]) {
        append(UInt32(truncatingIfNeeded: outcomes.count))
        var zones = ZoneMemory()
        for outcome in outcomes {
            switch outcome {
            case .failure(let json): appendFailure(json)
            case .success(let id):
                let hasZone = zones.changes(to: id.zone)
                append(hasZone ? ItemFlags.hasZone : 0)
                if hasZone { append(id.zone) }
                append(id.name)
            }
        }
    }

    private mutating func appendFailure(_ json: [UInt8]) {
        append(ItemFlags.failed)
        append(blob: json[...])
    }
}

extension WireReader {
    mutating func recordOutcomes() throws(WireFormError) -> [Result<Record, SyncError>] {
        try outcomes { (it, zone) throws(WireFormError) in
            let tag = try it.tag()
            // The body is a slice: a record that is kept retains the answer. Only deltas, which are
            // larger, copy their records into blocks.
            return Record(zone: zone, changeTag: tag, body: try it.body())
        }
    }

    mutating func deletionOutcomes() throws(WireFormError) -> [Result<RecordID, SyncError>] {
        try outcomes { (it, zone) throws(WireFormError) in
            RecordID(recordName: try it.string(), zone: zone)
        }
    }

    private mutating func outcomes<Success>(
        _ success: (inout WireReader, ZoneID) throws(WireFormError) -> Success
    ) throws(WireFormError) -> [Result<Success, SyncError>] {
        // The smallest outcome has flags (1 byte) and one length (4 bytes).
        let count = try self.count(ofItems: 5)
        var zones = ZoneMemory()
        var results: [Result<Success, SyncError>] = []
        results.reserveCapacity(count)
        for _ in 0..<count {
            let flags = try self.flags(ItemFlags.hasZone | ItemFlags.failed)
            if flags == ItemFlags.failed {
                results.append(.failure(try json(SyncError.self)))
                continue
            }
            guard flags & ItemFlags.failed == 0 else {
                throw WireFormError("an item that failed has no zone", at: offset - 1)
            }
            let zone = try zones.zone(follows: flags & ItemFlags.hasZone != 0, from: &self)
            results.append(.success(try success(&self, zone)))
        }
        return results
    }
}

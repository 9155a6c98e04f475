// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLock
import TidemarkLog
import TidemarkModel
import TidemarkQuery

/// Reads the changes that the query index takes in, from the log.
final class ChangeReader: Sendable {
    private let source: any EventSource
    private let line: IncarnationLine
    /// A zone, as far as queries are concerned.
    struct QueriedZone: Sendable {
        /// The key of its container.
        var container: UInt64
        /// True if its records can be queried.
        var isQueried: Bool
    }

    typealias Zones = @Sendable (ZoneKey) throws(SyncError) -> QueriedZone?

    /// Returns the zone of a key; `nil` if there is none.
    ///
    /// It is `nil` itself once the store is closed, so that the store releases its views even if the task
    /// that updates the index runs on for a moment.
    private let zones: Lock<Zones?>
    /// The number of events between two checks for cancellation, which then cost next to nothing.
    private static let cancellationInterval: UInt64 = 4_096

    /// The changes in a stretch of the log, up to the end of a commit.
    struct Batch: Sendable {
        var changes: [IndexedChange] = []
        var position = IndexPosition()
        /// The length of the blocks that the saves among the changes keep in memory.
        var byteCount = 0
        private var lastBlockAddress: UInt = 0

        mutating func append(_ change: IndexedChange, of block: [UInt8]) {
            changes.append(change)
            guard case .saved = change.content else { return }
            // No other block is at the address, because the last save keeps its block.
            let address = block.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            if address != lastBlockAddress { byteCount += block.count }
            lastBlockAddress = address
        }
    }

    /// The length of the blocks that the changes of a transaction may keep, not counting the rest of
    /// the last commit.
    private static let batchByteCount = 32 << 20
    /// The number of changes per transaction that only adds rows at the ends of tables.
    private static let addingCount = 16_384
    /// The number of changes per transaction that also removes rows.
    ///
    /// These are all over the tables, so that a transaction changes most pages if it replaces one
    /// record in ten. Smaller transactions write many pages several times.
    private static let replacingCount = 131_072

    init(
        _ source: any EventSource,
        _ line: IncarnationLine,
        _ zones: @escaping Zones
    ) {
        self.source = source
        self.line = line
        self.zones = Lock(zones)
    }

    /// Reads nothing more, and releases the views of the store.
    func close() { zones.withLock { $0 = nil } }

    /// The versions of records that others replace, or delete, before or at a position.
    ///
    /// One walk through the log, and a bit of memory for each position.
    func replacedVersions(through bound: SequenceNumber) throws -> PositionSet {
        var replaced = PositionSet()
        try source.visit(from: SequenceNumber.zero.next, through: bound) {
            (event) throws(EventFormatError) in
            // Without a copy of the payload: this visits every event of the log.
            let payload = event.block.span.bytes.extracting(event.payloadRange)
            if let previous = try RecordEvent.previous(in: payload),
                previous < event.sequence
            {
                replaced.insert(previous)
            }
            return event.sequence.rawValue % Self.cancellationInterval != 0 || !Task.isCancelled
        }
        try Task.checkCancellation()
        return replaced
    }

    /// Returns the changes after a position, up to a bound or the size of a batch.
    ///
    /// Versions in `replaced` are left out; each of the others then replaces nothing.
    func batch(
        after start: IndexPosition,
        through bound: SequenceNumber,
        without replaced: PositionSet?
    ) throws -> Batch {
        let countLimit = replaced == nil ? Self.replacingCount : Self.addingCount
        guard let find = zones.withLock(\.self) else { throw StoreQueries.closing }
        var batch = Batch()
        batch.position = start
        // Looked up once: a log of many zones alternates between them all the time.
        var known: [ZoneKey: QueriedZone?] = [:]
        var zone: (key: ZoneKey, found: QueriedZone?)?
        var failure: SyncError?
        try source.visit(from: start.reached.next, through: bound) {
            (event) throws(EventFormatError) in
            // A batch ends with a commit, because queries between two batches must not see a part
            // of one.
            if event.sequence == event.commit.first,
                batch.changes.count >= countLimit || batch.byteCount >= Self.batchByteCount
            {
                return false
            }
            batch.position.sequence = event.sequence.rawValue
            batch.position.received = event.commit.received
            if event.zone != zone?.key {
                do throws(SyncError) {
                    if known[event.zone] == nil { known[event.zone] = try find(event.zone) }
                    zone = (event.zone, known[event.zone] ?? nil)
                } catch {
                    failure = error
                    return false
                }
            }
            if let replaced, replaced.contains(event.sequence) { return true }
            if let change = try IndexedChange(event, zone?.found) {
                // The replaced event was skipped.
                let change = replaced == nil ? change : change.replacingNothing
                batch.append(change, of: event.block)
            }
            return event.sequence.rawValue % Self.cancellationInterval != 0 || !Task.isCancelled
        }
        if let failure { throw failure }
        try Task.checkCancellation()
        batch.position.incarnation = line.incarnation(of: batch.position.reached).rawValue
        return batch
    }
}

extension IndexedChange {
    /// The change as it is where the version before it never was.
    fileprivate var replacingNothing: IndexedChange {
        IndexedChange(
            sequence: sequence,
            container: container,
            zone: zone,
            previous: 0,
            content: content
        )
    }

    /// Creates the change of the query index that an event causes; `nil` if the event causes none.
    fileprivate init?(
        _ event: LogEvent,
        _ queried: ChangeReader.QueriedZone?
    ) throws(EventFormatError) {
        let bytes = event.payload
        guard let first = bytes.first else { return nil }
        let sequence = event.sequence.rawValue
        let zone = event.zone.rawValue
        switch EventKind(rawValue: first) {
        case .zoneDeleted:
            self.init(
                sequence: sequence,
                container: queried?.container,
                zone: zone,
                previous: 0,
                content: .zoneDeleted
            )
        case .recordSaved, .recordDeleted, .recordTouched:
            guard let queried, queried.isQueried else { return nil }
            let stored = try StoredRecord(event.sequence, zone: event.zone, bytes)
            let content: Content =
                stored.event.state == .live
                ? .saved(try stored.body())
                : .deleted(recordType: try stored.tombstone().type)
            self.init(
                sequence: sequence,
                container: queried.container,
                zone: zone,
                previous: stored.event.previousState == .live ? stored.event.previous.rawValue : 0,
                content: content
            )
        default: return nil
        }
    }
}

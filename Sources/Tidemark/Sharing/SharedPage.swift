// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// One page of what shares show of a zone: which entries of their lists it has, and what they say.
struct SharedPage {
    /// An entry of a share's list.
    struct Entry {
        /// The record's slot.
        var slot: UInt64
        /// Position of the event that says it: the record's own, or one of the share's.
        var sequence: SequenceNumber
        /// Whether the record is to go whatever the event says, because the client left the share.
        var isGone: Bool
    }

    /// What is told, in order.
    private(set) var entries: [Entry] = []

    /// Adds entries, but for those at some positions.
    mutating func append(
        _ versions: some Sequence<RecordVersion>,
        but unsaid: Set<SequenceNumber>,
        isGone: Bool
    ) {
        for version in versions where unsaid.isEmpty || !unsaid.contains(version.sequence) {
            entries.append(
                Entry(slot: version.slot, sequence: version.sequence, isGone: isGone)
            )
        }
    }

    /// Leaves the last entry of each record.
    mutating func collapse() {
        var seen: Set<UInt64> = []
        entries = entries.reversed().filter { seen.insert($0.slot).inserted }.reversed()
    }

    /// Reads what the entries say: their events, and for records that came to a share without being
    /// changed the version that they had.
    ///
    /// Says too how many of the entries fit into a number of bytes: at least one. O(entries), each
    /// event's block decoded once.
    func changes(
        in zone: ZoneID,
        as access: ZoneAccess,
        from source: any EventSource,
        _ line: IncarnationLine,
        byteLimit: Int
    ) throws(SyncError) -> (changes: [RecordChange], fitting: Int) {
        var lines = DeltaLines(of: zone, line: line, shownTo: access)
        var told = Told(capacity: entries.count)
        var versions: [Wanted] = []
        let own = entries.indices.map { Wanted(sequence: entries[$0].sequence, place: $0) }
        try Self.read(own, from: source) { (event, place) throws(EventFormatError) in
            let payload = event.block.span.bytes.extracting(event.payloadRange)
            let isGone = entries[place].isGone
            guard AudienceEvent.isOne(payload) else {
                told.append(isGone ? try lines.gone(event) : try lines.change(event), event, place)
                return
            }
            let (state, version) = try AudienceEvent.version(in: payload)
            if state == .live, !isGone {
                let sequence = SequenceNumber(rawValue: version)
                versions.append(Wanted(sequence: sequence, place: place))
            } else {
                told.append(lines.gone(try AudienceEvent(payload)), event, place)
            }
        }
        try Self.read(versions, from: source) { (event, place) throws(EventFormatError) in
            told.append(try lines.change(event), event, place)
        }
        told.sort()
        return told.prefix(of: entries.count, byteLimit: byteLimit)
    }

    /// An event to read, and the place in the page that it is for.
    private struct Wanted {
        var sequence: SequenceNumber
        var place: Int
    }

    /// Reads events in the order in which they lie.
    private static func read(
        _ wanted: [Wanted],
        from source: any EventSource,
        _ take: (LogEvent, _ place: Int) throws(EventFormatError) -> Void
    ) throws(SyncError) {
        if wanted.isEmpty { return }
        let ascending = wanted.sorted { $0.sequence < $1.sequence }
        var next = 0
        try source.visit(ascending.map(\.sequence)) { (event) throws(EventFormatError) in
            // A reader passes over what is damaged.
            while next < ascending.count, ascending[next].sequence < event.sequence { next += 1 }
            guard next < ascending.count, ascending[next].sequence == event.sequence else {
                return true
            }
            try take(event, ascending[next].place)
            next += 1
            return true
        }
    }
}

/// The lines of a page as they are found, each with its place.
private struct Told {
    private var changes: [RecordChange] = []
    private var places: [Int] = []
    private var isInOrder = true
    /// At least as many as the bodies have.
    private var byteCount = 0

    init(capacity: Int) {
        changes.reserveCapacity(capacity)
        places.reserveCapacity(capacity)
    }

    @inline(__always)
    mutating func append(_ change: RecordChange, _ event: LogEvent, _ place: Int) {
        if let last = places.last, last > place { isInOrder = false }
        changes.append(change)
        places.append(place)
        byteCount += event.payloadRange.count
    }

    /// Puts the lines in the order of their places: as they are found, mostly.
    mutating func sort() {
        if isInOrder { return }
        let order = places.indices.sorted { places[$0] < places[$1] }
        changes = order.map { changes[$0] }
        places = order.map { places[$0] }
    }

    /// The lines whose bodies fit into a number of bytes, at least one, and how many of so many
    /// entries they are.
    func prefix(of count: Int, byteLimit: Int) -> (changes: [RecordChange], fitting: Int) {
        if byteCount < byteLimit { return (changes, count) }
        var byteCount = 0
        for (index, change) in changes.enumerated() {
            if case .changed(let record) = change { byteCount += record.body.bytes.count }
            if byteCount >= byteLimit {
                return (Array(changes[...index]), places[index] + 1)
            }
        }
        return (changes, count)
    }
}

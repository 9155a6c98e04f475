// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// One page of a zone's delta, as the events of its entries are read one after another.
///
/// This runs once per record of every delta.
struct DeltaPage {
    /// The number of entries of the list on the page.
    private(set) var count = 0
    /// The rows of the page.
    var rows: RecordRows { lines.rows }

    private var lines: DeltaRows
    private let byteLimit: Int
    private var byteCount = 0
    /// Of each row, the place of its entry in the list.
    private var places: [Int] = []
    private var isInOrder = true

    /// The commit that the last event belongs to, and how many rows lie before it.
    private var commitFirst = SequenceNumber.zero
    private var commitLast = SequenceNumber.zero
    private var rowCountBefore = 0

    init(
        _ list: DeltaList,
        line: IncarnationLine,
        byteLimit: Int,
        shownTo access: ZoneAccess?
    ) {
        self.byteLimit = byteLimit
        let capacity = list.entries.count
        lines = DeltaRows(line: line, shownTo: access, capacity: capacity)
        places.reserveCapacity(capacity)
    }

    /// An event to read, and the place in the list of the entry that it is for.
    private struct Wanted {
        var sequence: SequenceNumber
        var place: Int
    }

    /// Reads the content of the entries up to the page's limits.
    ///
    /// It reads their events, and the current versions of records that entered a share without a
    /// change. O(entries); each event's block is decoded once.
    mutating func read(_ list: DeltaList, from source: any EventSource) throws(SyncError) {
        let entries = list.entries
        if entries.isEmpty { return }
        var wanted = entries.indices.map { Wanted(sequence: entries[$0].sequence, place: $0) }
        let ascends = zip(entries, entries.dropFirst()).allSatisfy { $0.sequence < $1.sequence }
        if !ascends { wanted.sort { $0.sequence < $1.sequence } }
        var versions: [Wanted] = []
        try Self.read(wanted, from: source) { (event, place) throws(EventFormatError) in
            let payload = event.block.span.bytes.extracting(event.payloadRange)
            let isGone = entries[place].isGone
            if AudienceEvent.isOne(payload) {
                let (state, version) = try AudienceEvent.version(in: payload)
                // The event of a share names the version that it shows. Those versions are read in
                // a second pass, in log order.
                if state == .live, !isGone {
                    let sequence = version
                    versions.append(Wanted(sequence: sequence, place: place))
                    return true
                }
                noteRow(of: event, at: place)
                lines.append(gone: try AudienceEvent(payload))
            } else {
                noteRow(of: event, at: place)
                try lines.append(event, isGone: isGone)
            }
            // After an event that is read later, it is not yet known if the page is full.
            return !ascends || !versions.isEmpty || byteCount < byteLimit
        }
        versions.sort { $0.sequence < $1.sequence }
        try Self.read(versions, from: source) { (event, place) throws(EventFormatError) in
            noteRow(of: event, at: place)
            try lines.append(event, isGone: false)
            return true
        }
        count = entries.count
        if !isInOrder { sort() }
        if byteCount >= byteLimit { cut(entries.count) }
        trim(list)
    }

    /// Reads events in the order in which they lie.
    private static func read(
        _ wanted: [Wanted],
        from source: any EventSource,
        _ take: (LogEvent, _ place: Int) throws(EventFormatError) -> Bool
    ) throws(SyncError) {
        if wanted.isEmpty { return }
        var next = 0
        try source.visit(wanted.map(\.sequence)) { (event) throws(EventFormatError) in
            // A reader skips damaged events, and reads an event once even if two entries name it.
            while next < wanted.count, wanted[next].sequence < event.sequence { next += 1 }
            while next < wanted.count, wanted[next].sequence == event.sequence {
                guard try take(event, wanted[next].place) else { return false }
                next += 1
            }
            return true
        }
    }

    @inline(__always)
    private mutating func noteRow(of event: LogEvent, at place: Int) {
        if event.commit.first != commitFirst {
            rowCountBefore = places.count
            commitFirst = event.commit.first
            commitLast = event.commit.last
        }
        if let last = places.last, last > place { isInOrder = false }
        places.append(place)
        byteCount += event.payloadRange.count
    }

    /// Puts the rows in the order of their entries.
    private mutating func sort() {
        let order = places.indices.sorted { places[$0] < places[$1] }
        lines.rows.reorder(order)
        places = order.map { places[$0] }
    }

    /// Cuts the page after the row that fills it, or after the row that was read last.
    private mutating func cut(_ entryCount: Int) {
        var byteCount = 0
        // Rows are shorter than the events that were counted. So the page may end at the last row
        // that was read.
        let last = places.indices.first { index in
            byteCount += rows.bytes(of: rows[index]).count
            return byteCount >= byteLimit
        }
        let rowCount = (last ?? places.count - 1) + 1
        let wasReadToItsEnd = last == nil && places.last == entryCount - 1
        removeRows(from: rowCount)
        count = wasReadToItsEnd ? entryCount : (places.last ?? -1) + 1
    }

    /// Cuts the page back to the end of a commit, if the last commit continues after the page and
    /// does not fill it.
    private mutating func trim(_ list: DeltaList) {
        let next = count < list.entries.count ? list.entries[count].sequence : list.next
        // If the last entry could not be read, the page continues after it. If one commit fills the
        // page, `rowCountBefore` is zero and the commit is split: an empty page would not advance
        // the client.
        guard list.keepsCommits, let next, next <= commitLast, rowCountBefore > 0,
            places.last == count - 1
        else { return }
        removeRows(from: rowCountBefore)
        count = (places.last ?? -1) + 1
    }

    private mutating func removeRows(from rowCount: Int) {
        lines.rows.removeLast(places.count - rowCount)
        places.removeLast(places.count - rowCount)
    }
}

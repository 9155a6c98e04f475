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
    private var rowCount = 0
    private let byteLimit: Int
    /// True if events of shares may be in the list: it is of another user's zone.
    private let isShared: Bool
    private var byteCount = 0
    /// Of each row, the place of its entry in the list; empty while that is the row's own index.
    private var places: [Int] = []
    /// False once a row's place is not its index.
    private var isWhole = true
    private var isInOrder = true

    /// The commit that the last event belongs to, and how many rows lie before it.
    private var commitFirst = SequenceNumber.zero
    private var commitLast = SequenceNumber.zero
    private var rowCountBefore = 0

    init(_ list: DeltaList, line: IncarnationLine, byteLimit: Int, shownTo access: ZoneAccess?) {
        self.byteLimit = byteLimit
        isShared = access != nil
        lines = DeltaRows(line: line, shownTo: access, capacity: list.entries.count)
    }

    /// Reads the content of the entries up to the page's limits.
    ///
    /// It reads their events, and the current versions of records that entered a share without a
    /// change. O(entries); each event's block is decoded once.
    mutating func read(_ list: DeltaList, from source: any EventSource) throws(SyncError) {
        let entries = list.entries
        if entries.isEmpty { return }
        var reading = PageReading(EntryOrder(entries))
        try source.visitRuns(reading.order.sequences) { (run) throws(EventFormatError) in
            try take(run, for: entries, &reading)
        }
        if !reading.versions.isEmpty {
            var reading = PageReading(reading.versions.order)
            try source.visitRuns(reading.order.sequences) { (run) throws(EventFormatError) in
                try take(run, for: nil, &reading)
            }
        }
        count = entries.count
        if !isInOrder { sort() }
        if byteCount >= byteLimit { cut(entries.count) }
        trim(list)
    }

    /// Takes the events of a block; returns `false` once the page is full.
    ///
    /// Without entries, the events are the versions that shares show. One loop without closures:
    /// it runs once per record.
    private mutating func take(
        _ run: EventRun,
        for entries: [DeltaEntry]?,
        _ reading: inout PageReading
    ) throws(EventFormatError) -> Bool {
        let block = run.block
        lines.begin(block)
        for row in run.rows {
            let sequence = run.sequence(of: row)
            // A reader skips damaged events, and reads an event once even if two entries name it.
            while let place = reading.place(of: sequence) {
                let isGone = isShared && entries?[place].isGone == true
                if let body = row.markedRange {
                    noteRow(of: row, in: run, at: place)
                    lines.append(sequence, body, isGone: isGone)
                } else if isShared, !isGone, entries != nil,
                    let version = run.markedSequence(of: row)
                {
                    reading.versions.append(version, at: place, of: reading.order.sequences.count)
                } else if entries == nil || !isShared || !AudienceEvent.isOne(row, in: block) {
                    noteRow(of: row, in: run, at: place)
                    try lines.append(row, at: sequence, in: block, isGone: isGone)
                } else {
                    try takeAudienceEvent(row, in: run, at: place, isGone: isGone, &reading)
                }
                guard reading.order.isOfList else { continue }
                // After an event that is read later, it is not yet known if the page is full.
                if byteCount >= byteLimit, reading.versions.isEmpty { return false }
                // A list in the order of the log names each event once.
                break
            }
        }
        return true
    }

    /// Takes the event of a share, which names the version that it shows.
    ///
    /// Those versions are read in a second pass, in log order.
    @inline(never)
    private mutating func takeAudienceEvent(
        _ row: EventRow,
        in run: EventRun,
        at place: Int,
        isGone: Bool,
        _ reading: inout PageReading
    ) throws(EventFormatError) {
        let payload = run.block.span.bytes.extracting(row.payloadRange)
        let (state, version) = try AudienceEvent.version(in: payload)
        if state == .live, !isGone {
            reading.versions.append(version, at: place, of: reading.order.sequences.count)
        } else {
            noteRow(of: row, in: run, at: place)
            lines.append(gone: try AudienceEvent(payload))
        }
    }

    @inline(__always)
    private mutating func noteRow(of row: EventRow, in run: EventRun, at place: Int) {
        let commit = run.contexts[row.context].commit
        if commit.first != commitFirst {
            rowCountBefore = rowCount
            commitFirst = commit.first
            commitLast = commit.last
        }
        if place != rowCount || !isWhole { note(place) }
        rowCount += 1
        byteCount += row.payloadRange.count
    }

    @inline(never)
    private mutating func note(_ place: Int) {
        if isWhole {
            isWhole = false
            places = Array(0..<rowCount)
        }
        if let last = places.last, last > place { isInOrder = false }
        places.append(place)
    }

    /// The place of the entry of the last row; -1 without rows.
    private var lastPlace: Int { isWhole ? rowCount - 1 : places.last ?? -1 }

    /// Puts the rows in the order of their entries.
    private mutating func sort() {
        let order = AscendingOrder.indexes(of: places.map(UInt64.init))
        lines.rows.reorder(order)
        places = order.map { places[$0] }
    }

    /// Cuts the page after the row that fills it, or after the row that was read last.
    private mutating func cut(_ entryCount: Int) {
        var byteCount = 0
        // Rows are shorter than the events that were counted. So the page may end at the last row
        // that was read.
        let last = (0..<rowCount).first { index in
            byteCount += rows.bytes(of: rows[index]).count
            return byteCount >= byteLimit
        }
        let keptCount = last.map { $0 + 1 } ?? rowCount
        let wasReadToItsEnd = last == nil && lastPlace == entryCount - 1
        removeRows(from: keptCount)
        count = wasReadToItsEnd ? entryCount : lastPlace + 1
    }

    /// Cuts the page back to the end of a commit, if the last commit continues after the page and
    /// does not fill it.
    private mutating func trim(_ list: DeltaList) {
        let next = count < list.entries.count ? list.entries[count].sequence : list.next
        // If the last entry could not be read, the page continues after it. If one commit fills the
        // page, `rowCountBefore` is zero and the commit is split: an empty page would not advance
        // the client.
        guard list.keepsCommits, let next, next <= commitLast, rowCountBefore > 0,
            lastPlace == count - 1
        else { return }
        removeRows(from: rowCountBefore)
        count = lastPlace + 1
    }

    private mutating func removeRows(from index: Int) {
        let goneCount = rowCount - index
        lines.rows.removeLast(goneCount)
        if !isWhole { places.removeLast(goneCount) }
        rowCount = index
    }
}

/// The progress of reading the events of a page.
private struct PageReading {
    let order: EntryOrder
    /// The versions that shares show, for places of the list.
    var versions = ShownVersions()
    /// The index in the order of the next position to read.
    private var next = 0

    init(_ order: EntryOrder) {
        self.order = order
    }

    /// Returns the place of the next entry if it is for the event at a position, and moves past it.
    @inline(__always)
    mutating func place(of sequence: SequenceNumber) -> Int? {
        let sequences = order.sequences
        while next < sequences.count, sequences[next] < sequence { next += 1 }
        guard next < sequences.count, sequences[next] == sequence else { return nil }
        defer { next += 1 }
        return order.place(next)
    }
}

/// The versions that events of shares name, each with the place of such an event in the list.
private struct ShownVersions {
    private var sequences: [SequenceNumber] = []
    /// Empty while the place of each version is its index.
    private var places: [Int] = []
    private var ascends = true

    var isEmpty: Bool { sequences.isEmpty }

    /// Adds a version, of at most `capacity`.
    @inline(__always)
    mutating func append(_ sequence: SequenceNumber, at place: Int, of capacity: Int) {
        if let last = sequences.last {
            if last > sequence { ascends = false }
        } else {
            sequences.reserveCapacity(capacity)
        }
        if place != sequences.count || !places.isEmpty { note(place, of: capacity) }
        sequences.append(sequence)
    }

    @inline(never)
    private mutating func note(_ place: Int, of capacity: Int) {
        if places.isEmpty {
            places.reserveCapacity(capacity)
            places.append(contentsOf: sequences.indices)
        }
        places.append(place)
    }

    /// The order in which the versions lie in the log.
    var order: EntryOrder {
        let places = places.isEmpty ? nil : places
        if ascends { return EntryOrder(sequences: sequences, places: places) }
        return EntryOrder(Array(zip(sequences, places ?? Array(sequences.indices))))
    }
}

/// The positions of a list's entries in the order in which they lie in the log.
private struct EntryOrder {
    let sequences: [SequenceNumber]
    /// For each position the place of its entry; `nil` if that is its index.
    private let places: [Int]?
    /// True if each entry of the list has a position, in the same order.
    let isOfList: Bool

    /// The order of the entries of a list.
    init(_ entries: [DeltaEntry]) {
        var sequences: [SequenceNumber] = []
        sequences.reserveCapacity(entries.count)
        var last = SequenceNumber.zero
        var ascends = true
        for entry in entries {
            if entry.sequence <= last { ascends = false }
            last = entry.sequence
            sequences.append(last)
        }
        if ascends {
            self.init(sequences: sequences, places: nil, isOfList: true)
        } else {
            self.init(sequences.indices.map { (sequences[$0], $0) })
        }
    }

    /// The order of positions for places of a list.
    init(_ positions: [(sequence: SequenceNumber, place: Int)]) {
        let sorted = positions.sorted { $0.sequence < $1.sequence }
        self.init(sequences: sorted.map(\.sequence), places: sorted.map(\.place))
    }

    /// Creates the order of positions that ascend, without sorting them.
    init(sequences: [SequenceNumber], places: [Int]?, isOfList: Bool = false) {
        self.sequences = sequences
        self.places = places
        self.isOfList = isOfList
    }

    @inline(__always)
    func place(_ index: Int) -> Int { places?[index] ?? index }
}

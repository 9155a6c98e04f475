// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// The segments of a log, shared by its readers: opened on first use, closed if least recently
/// used, with a cache of decoded blocks.
final class LogFiles: Sendable {
    /// The maximum number of open segments, each with its directory and dictionary.
    static let openSegmentCountLimit = 96

    /// One segment of the log, in order.
    struct Segment: Sendable {
        var id: SegmentID
        /// The last position of the segment; `nil` while it takes events.
        var last: SequenceNumber?
        /// The end of the segment's frames; `nil` while it takes events.
        var framesEnd: UInt64?
        var isSealed = false
        /// The reader, present while the segment is open; always present if the segment takes
        /// events.
        var reader: SegmentReader?
        /// The value of the use counter when the segment was last used.
        var lastUse: UInt64 = 0
    }

    fileprivate struct State {
        var segments: [Segment]
        var useCount: UInt64 = 0
        var damage: [LogError] = []
    }

    let store: StoreID
    let folder: StoreFolder
    let fileSystem: any FileSystem
    let cache: BlockCache
    let marker: EventMarker
    let readAhead = ReadAhead()
    /// True if damage is recorded and skipped instead of thrown.
    let isTolerant: Bool
    private let state: Lock<State>

    init(
        store: StoreID,
        folder: StoreFolder,
        fileSystem: any FileSystem,
        segments: [Segment],
        cacheByteCount: Int,
        marker: EventMarker,
        isTolerant: Bool = false
    ) {
        self.store = store
        self.folder = folder
        self.fileSystem = fileSystem
        self.marker = marker
        self.isTolerant = isTolerant
        cache = BlockCache(byteCount: cacheByteCount)
        state = Lock(State(segments: segments))
    }

    /// The segments, in order.
    var segments: [Segment] { state.withLock { $0.segments } }

    /// The number of segments.
    var segmentCount: Int { state.withLock { $0.segments.count } }

    /// The damage that has been skipped so far, in the order of discovery.
    var damage: [LogError] { state.withLock { $0.damage } }

    /// Changes the list of segments.
    func update(_ change: (inout [Segment]) -> Void) {
        let isSegmentGone = state.withLock { state in
            let ids = state.segments.map(\.id)
            change(&state.segments)
            return !Set(ids).isSubset(of: state.segments.lazy.map(\.id))
        }
        // It may have the file of such a segment.
        if isSegmentGone { readAhead.clear() }
    }

    /// Throws the damage, or records it.
    func meet(_ error: LogError) throws(LogError) {
        // A failed read is never skipped: the bytes may be sound, and a later read may succeed.
        guard isTolerant, error.code != .unreadable else { throw error }
        state.withLock { state in
            if !state.damage.contains(error) { state.damage.append(error) }
        }
    }

    /// Returns the segment that covers a position, or the first one after the position; `nil` after
    /// the last segment.
    func segment(at sequence: SequenceNumber) -> Segment? {
        state.withLock { state in
            let index = state.segments.endOfPrefix { $0.last.map { $0 < sequence } ?? false }
            guard index < state.segments.count else { return nil }
            state.useCount += 1
            state.segments[index].lastUse = state.useCount
            return state.segments[index]
        }
    }

    /// Returns true if a segment is still part of the log.
    func isPart(_ id: SegmentID) -> Bool {
        state.withLock { $0.segments.contains { $0.id == id } }
    }

    /// Returns the reader of a segment; `nil` if the segment is too damaged to read and was
    /// skipped.
    ///
    /// If compaction has replaced the segment meanwhile, its file may be gone. This then throws,
    /// and the segment is no longer part of the log.
    func reader(of segment: Segment) throws(LogError) -> SegmentReader? {
        if let reader = segment.reader { return reader }
        // Outside of the lock, because this reads the disk. If two threads load one segment at
        // once, the list keeps the later reader.
        guard let reader = try load(segment) else { return nil }
        state.withLock { state in
            // If compaction replaced the segment during the load, the caller still uses the reader,
            // but the list does not keep it.
            guard let place = state.segments.firstIndex(where: { $0.id == segment.id }) else {
                return
            }
            state.segments[place].reader = reader
            state.closeLeastUsed(limit: Self.openSegmentCountLimit)
        }
        return reader
    }

    /// Closes the finished segments until their next use.
    func closeFinished() {
        readAhead.clear()
        state.withLock { $0.closeLeastUsed(limit: 0) }
    }

    private func load(_ segment: Segment) throws(LogError) -> SegmentReader? {
        do throws(LogError) {
            let (file, header) = try SegmentReader.open(
                segment.id,
                store: store,
                in: folder,
                fileSystem: fileSystem
            )
            let dictionary = try SegmentReader.dictionary(of: file, header: header)
            if segment.isSealed {
                do throws(LogError) {
                    let footer = try SegmentReader.footer(of: file, header: header)
                    if let last = segment.last, let framesEnd = segment.framesEnd {
                        try footer.summary.check(
                            last: last,
                            framesEnd: framesEnd,
                            path: file.path
                        )
                    }
                    return SegmentReader(
                        id: segment.id,
                        file: file,
                        header: header,
                        dictionary: dictionary,
                        blocks: footer.directory,
                        postings: footer.postings
                    )
                } catch {
                    try meet(error)
                }
            }
            // An unsealed segment leads here, and a sealed one whose damaged footer a tolerant
            // reader skipped.
            var found = try FoundBlocks(file, header: header, framesEnd: segment.framesEnd)
            for error in try found.walk() { try meet(error) }
            return SegmentReader(
                id: segment.id,
                file: file,
                header: header,
                dictionary: dictionary,
                blocks: found.blocks
            )
        } catch {
            try meet(error)
            return nil
        }
    }
}

extension LogFiles.State {
    /// Closes finished segments until few enough are open.
    ///
    /// Readers that still use a segment keep it open.
    fileprivate mutating func closeLeastUsed(limit: Int) {
        while true {
            let open = segments.indices.filter {
                // The reader of the active segment has the only list of its blocks, so it stays
                // open.
                segments[$0].reader != nil && segments[$0].last != nil
            }
            guard open.count > limit,
                let oldest = open.min(by: { segments[$0].lastUse < segments[$1].lastUse })
            else { return }
            segments[oldest].reader = nil
        }
    }
}

/// The blocks of a segment without a usable footer, found by walking its frames.
struct FoundBlocks {
    private(set) var blocks: [BlockEntry] = []
    private var scan: FrameScan
    /// The end of the frames according to the manifest, if known.
    private let framesEnd: UInt64?

    init(_ file: any LogFile, header: FileHeader, framesEnd: UInt64?) throws(LogError) {
        scan = try FrameScan(file, header: header, limit: framesEnd)
        self.framesEnd = framesEnd
    }

    /// Gathers every sound block, and returns the damage between them.
    mutating func walk() throws(LogError) -> [LogError] {
        var damage: [LogError] = []
        while true {
            switch try scan.step() {
            case .frame(let frame):
                if frame.header.kind.holdsEvents { blocks.append(contentsOf: frame.blocks) }
            // The limit comes earlier if the file is shorter than its frames; `tail` then reports it.
            case .stop(.limit) where framesEnd == nil || scan.offset == framesEnd:
                return damage
            case .stop(let stop):
                if case .corrupted(let error) = try scan.tail(after: stop, promised: framesEnd) {
                    damage.append(error)
                }
                let next = try scan.goOn(behind: stop)
                if let frame = next.frame, frame.header.kind.holdsEvents {
                    blocks.append(contentsOf: frame.blocks)
                }
                guard next.goesOn else { return damage }
            }
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// The segments of a log as their readers share them: opened when first needed, the ones used
/// least recently closed again, decoded blocks kept in a cache.
final class LogFiles: Sendable {
    /// Segments that are kept open at most, each with its directory and dictionary.
    static let openSegmentCountLimit = 32

    /// One segment of the log, in order.
    struct Segment: Sendable {
        var id: SegmentID
        /// The last position it covers; `nil` while it takes events.
        var last: SequenceNumber?
        /// Where its frames end; `nil` while it takes events.
        var framesEnd: UInt64?
        var isSealed = false
        /// Present while the segment is open; always for one that takes events.
        var reader: SegmentReader?
        /// When it was used last, by a count of uses.
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
    /// Whether damage is noted and passed over, instead of thrown.
    let isTolerant: Bool
    private let state: Lock<State>

    init(
        store: StoreID,
        folder: StoreFolder,
        fileSystem: any FileSystem,
        segments: [Segment],
        cacheByteCount: Int,
        isTolerant: Bool = false
    ) {
        self.store = store
        self.folder = folder
        self.fileSystem = fileSystem
        self.isTolerant = isTolerant
        cache = BlockCache(byteCount: cacheByteCount)
        state = Lock(State(segments: segments))
    }

    /// The segments, in order.
    var segments: [Segment] { state.withLock { $0.segments } }

    /// How many segments there are.
    var segmentCount: Int { state.withLock { $0.segments.count } }

    /// What was damaged and passed over so far, in the order it was met.
    var damage: [LogError] { state.withLock { $0.damage } }

    /// Changes the list of segments.
    func update(_ change: (inout [Segment]) -> Void) {
        state.withLock { change(&$0.segments) }
    }

    /// Throws, or notes the damage for the reader to tell at the end.
    func meet(_ error: LogError) throws(LogError) {
        guard isTolerant, error.code != .unreadable else { throw error }
        state.withLock { state in
            if !state.damage.contains(error) { state.damage.append(error) }
        }
    }

    /// The segment that covers a position, or the first one after it; `nil` past the last one.
    func segment(at sequence: SequenceNumber) -> Segment? {
        state.withLock { state in
            var low = 0
            var high = state.segments.count
            while low < high {
                let middle = (low + high) / 2
                if let last = state.segments[middle].last, last < sequence {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            guard low < state.segments.count else { return nil }
            state.useCount += 1
            state.segments[low].lastUse = state.useCount
            return state.segments[low]
        }
    }

    /// Whether a segment is one of the log's, still.
    func isPart(_ id: SegmentID) -> Bool {
        state.withLock { $0.segments.contains { $0.id == id } }
    }

    /// The reader of a segment; `nil` for one that is too damaged to read and was passed over.
    ///
    /// A segment that compaction has replaced meanwhile may be gone: then this throws, and the
    /// segment is no part of the log any more.
    func reader(of segment: Segment) throws(LogError) -> SegmentReader? {
        if let reader = segment.reader { return reader }
        guard let reader = try load(segment) else { return nil }
        state.withLock { state in
            guard let place = state.segments.firstIndex(where: { $0.id == segment.id }) else {
                return
            }
            state.segments[place].reader = reader
            state.closeLeastUsed()
        }
        return reader
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
    /// Readers that still use one keep it.
    fileprivate mutating func closeLeastUsed() {
        while true {
            let open = segments.indices.filter {
                segments[$0].reader != nil && segments[$0].last != nil
            }
            guard open.count > LogFiles.openSegmentCountLimit,
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
    /// Where the manifest says that the frames end, if it does.
    private let framesEnd: UInt64?

    init(_ file: any LogFile, header: FileHeader, framesEnd: UInt64?) throws(LogError) {
        scan = try FrameScan(file, header: header, limit: framesEnd)
        self.framesEnd = framesEnd
    }

    /// Gathers every sound block, and says what lies between them.
    mutating func walk() throws(LogError) -> [LogError] {
        var damage: [LogError] = []
        while true {
            switch try scan.step() {
            case .frame(let frame):
                if frame.header.kind.holdsEvents { blocks.append(contentsOf: frame.blocks) }
            case .stop(.limit):
                return damage
            case .stop(let stop):
                if case .corrupted(let error) = try scan.tail(after: stop, promised: framesEnd) {
                    damage.append(error)
                }
                let next = try scan.goOn(behind: stop)
                if let frame = next.frame { blocks.append(contentsOf: frame.blocks) }
                guard next.goesOn else { return damage }
            }
        }
    }
}

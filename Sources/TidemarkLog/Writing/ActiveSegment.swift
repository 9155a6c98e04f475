// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkLock

/// The segment that takes events: one writer, one place in one file.
struct ActiveSegment: ~Copyable {
    let id: SegmentID
    let reader: SegmentReader
    let compressor: FrameCompressor
    /// The offset of the next frame.
    private(set) var offset: UInt64
    /// Everything before it is on disk.
    private(set) var syncedOffset: UInt64
    private var chain: UInt64
    /// True if the last frame states that everything before it is on disk.
    private(set) var isVouched = true
    /// True if the last frame is a closing frame.
    private var endsWithClosing: Bool
    /// The content of the segment's recovery frame, which is repeated if another segment replaces
    /// this one.
    private(set) var recovery: [UInt8]?
    /// The footer of the frames so far; `nil` if frames were written before this open, whose events
    /// the writer does not know.
    private(set) var built: FooterBuilder?
    /// The time of the last commit of the log.
    private(set) var lastTime = Int64.min
    /// The local clock's time of the last commit.
    private(set) var lastReceived = Int64.min

    /// Continues a segment whose frames have been walked and are durable.
    init(
        reader: SegmentReader,
        compressor: FrameCompressor? = nil,
        offset: UInt64,
        chain: UInt64,
        lastTime: Int64,
        lastReceived: Int64,
        endsWithClosing: Bool = false
    ) {
        id = reader.id
        self.reader = reader
        self.compressor = compressor ?? FrameCompressor(dictionary: reader.dictionary)
        self.offset = offset
        syncedOffset = offset
        self.chain = chain
        self.lastTime = lastTime
        self.lastReceived = lastReceived
        self.endsWithClosing = endsWithClosing
        if offset == UInt64(reader.header.framesOffset) {
            built = FooterBuilder(first: reader.id.first)
        }
    }

    /// The number of bytes that frames can still take.
    var room: Int { Int(reader.header.allocatedByteCount) - Int(offset) }

    /// Writes one frame of commits, unsynced.
    mutating func write(_ builder: FrameBuilder) throws(LogError) -> WrittenFrame {
        // A frame of gaps alone has no commit, and its times are the least integers.
        lastTime = max(lastTime, builder.lastTime)
        lastReceived = max(lastReceived, builder.lastReceived)
        let frame = builder.frame()
        let (bytes, blocks) = frame.encoded(at: place, compressor: compressor)
        try put(bytes)
        isVouched = false
        return WrittenFrame(
            last: (frame.first + frame.positionCount).previous,
            commitCount: frame.commitCount,
            blocks: blocks,
            rawBlocks: frame.blocks
        )
    }

    /// Adds a written frame to the segment's footer, so that sealing need not read it.
    mutating func addToFooter(_ frame: WrittenFrame) {
        Self.add(frame, to: &built)
    }

    private static func add(_ frame: WrittenFrame, to built: inout FooterBuilder?) {
        do throws(BlockCursor.Malformed) {
            try built?.add(frame)
        } catch {
            // Sealing reads the frames then, and reports what is wrong.
            built = nil
        }
    }

    /// Writes a frame without commits, unsynced.
    mutating func write(
        _ kind: FrameKind,
        next: SequenceNumber,
        payload: [UInt8] = []
    ) throws(LogError) {
        if kind == .recovery { recovery = payload }
        try put(
            place.controlFrame(
                kind,
                next: next,
                lastTime: lastTime,
                lastReceived: lastReceived,
                payload: payload
            )
        )
    }

    /// Writes a marker that vouches for synced frames, so that other processes may read them and
    /// damage is detected.
    mutating func vouch(next: SequenceNumber) throws(LogError) {
        guard !isVouched, room >= Layout.frameHeaderByteCount else { return }
        try write(.marker, next: next)
        isVouched = true
    }

    /// Writes and syncs a closing frame, which records a clean close.
    ///
    /// One such frame is enough: repeated opens and closes do not make a store grow.
    mutating func close(next: SequenceNumber) throws(LogError) {
        if !endsWithClosing { try write(.closing, next: next) }
        endsWithClosing = true
        try makeDurable()
    }

    /// Makes frames durable that are not yet, such as a marker.
    mutating func makeDurable() throws(LogError) {
        if syncedOffset < offset { try sync() }
    }

    /// Makes what has been written durable.
    mutating func sync() throws(LogError) {
        let end = offset
        try LogError.wrapping { () throws(FileError) in try reader.file.sync() }
        syncedOffset = end
    }

    /// Makes what has been written durable, and adds the last frame to the footer meanwhile, on
    /// another thread if one is free.
    ///
    /// If the sync fails, the writer ends, and nothing uses the footer.
    mutating func sync(addingToFooter frame: WrittenFrame) throws(LogError) {
        let end = offset
        let file = reader.file
        // Taken, so that the footer has one owner, and is not copied.
        let footer = Lock(built.take())
        let failure = Lock<LogError?>(nil)
        DispatchQueue.concurrentPerform(iterations: 2) { part in
            guard part == 0 else { return footer.withLock { Self.add(frame, to: &$0) } }
            do throws(LogError) {
                try LogError.wrapping { () throws(FileError) in try file.sync() }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        built = footer.withLock { $0.take() }
        if let failure = failure.withLock({ $0 }) { throw failure }
        syncedOffset = end
    }

    private var place: FramePlace {
        FramePlace(
            salt: reader.header.salt,
            offset: offset,
            syncedOffset: syncedOffset,
            chain: chain
        )
    }

    private mutating func put(_ frame: [UInt8]) throws(LogError) {
        precondition(frame.count <= room, "a frame was admitted that has no room")
        // Every frame invalidates an earlier closing frame. `close` sets this again after its own
        // write.
        endsWithClosing = false
        try LogError.wrapping { () throws(FileError) in
            try reader.file.write(frame.span.bytes, at: offset)
        }
        offset += UInt64(frame.count)
        chain = chainWord(after: frame.span.bytes)
    }
}

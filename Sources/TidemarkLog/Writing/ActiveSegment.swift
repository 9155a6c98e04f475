// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The segment that takes events: one writer, one place in one file.
struct ActiveSegment: ~Copyable {
    let id: SegmentID
    let reader: SegmentReader
    private let compressor: FrameCompressor
    /// Where the next frame goes.
    private(set) var offset: UInt64
    /// Everything before it is on disk.
    private(set) var syncedOffset: UInt64
    private var chain: UInt64
    /// Whether the last frame written says that all before it is on disk.
    private(set) var isVouched = true
    /// Whether the last frame written is a closing frame.
    private var endsWithClosing: Bool
    /// What the segment's recovery frame tells, to be told again where another replaces it.
    private(set) var recovery: [UInt8]?
    /// The time of the last commit of the log.
    private(set) var lastTime = Int64.min
    /// When our own clock saw it.
    private(set) var lastReceived = Int64.min

    /// Goes on in a segment whose frames have been walked, and are durable.
    init(
        reader: SegmentReader,
        offset: UInt64,
        chain: UInt64,
        lastTime: Int64,
        lastReceived: Int64,
        endsWithClosing: Bool = false
    ) {
        id = reader.id
        self.reader = reader
        compressor = FrameCompressor(dictionary: reader.dictionary)
        self.offset = offset
        syncedOffset = offset
        self.chain = chain
        self.lastTime = lastTime
        self.lastReceived = lastReceived
        self.endsWithClosing = endsWithClosing
    }

    /// How many bytes frames can still take.
    var room: Int { Int(reader.header.allocatedByteCount) - Int(offset) }

    /// Writes one frame of commits, unsynced.
    mutating func write(_ builder: consuming FrameBuilder) throws(LogError) -> [BlockEntry] {
        lastTime = max(lastTime, builder.lastTime)
        lastReceived = max(lastReceived, builder.lastReceived)
        let frame = builder.encoded(at: place, compressor: compressor)
        try put(frame.bytes)
        isVouched = false
        return frame.blocks
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

    /// Vouches for what has been synced, so that others may read it and damage to it shows.
    mutating func vouch(next: SequenceNumber) throws(LogError) {
        guard !isVouched, room >= Layout.frameHeaderByteCount else { return }
        try write(.marker, next: next)
        isVouched = true
    }

    /// Ends the frames, durably, with one that says that the store was closed.
    ///
    /// One such frame is enough: a store that is opened and closed again and again does not grow.
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
        endsWithClosing = false
        try LogError.wrapping { () throws(FileError) in
            try reader.file.write(frame.span.bytes, at: offset)
        }
        offset += UInt64(frame.count)
        chain = chainWord(after: frame.span.bytes)
    }
}

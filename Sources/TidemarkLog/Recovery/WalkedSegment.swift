// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A segment without a footer, walked from its first frame to its end.
struct WalkedSegment {
    let reader: SegmentReader
    /// The last position of the last sound frame.
    private(set) var last: SequenceNumber
    /// The end of the sound frames.
    private(set) var end: UInt64
    private(set) var chain: UInt64
    /// Everything before it was durable when the last sound frame was written.
    private(set) var syncedOffset: UInt64
    private(set) var lastTime = Int64.min
    private(set) var lastReceived = Int64.min
    /// The bytes after the sound frames.
    private(set) var tail: Tail

    /// Walks a segment's frames: to `framesEnd` if the segment is finished, otherwise until they
    /// end.
    init(
        _ id: SegmentID,
        store: StoreID,
        in folder: StoreFolder,
        fileSystem: any FileSystem,
        mode: FileMode = .read,
        framesEnd: UInt64? = nil,
        promised: UInt64? = nil
    ) throws(LogError) {
        let (file, header) = try SegmentReader.open(
            id,
            store: store,
            in: folder,
            fileSystem: fileSystem,
            mode: mode
        )
        let dictionary = try SegmentReader.dictionary(of: file, header: header)
        var scan = try FrameScan(file, header: header, limit: framesEnd)
        var blocks: [BlockEntry] = []
        syncedOffset = UInt64(header.framesOffset)
        walk: while true {
            switch try scan.step() {
            case .frame(let frame):
                // Frames before this offset need not be rewritten by `makeDurable`, so a long
                // segment is not read and written again as a whole.
                syncedOffset = max(syncedOffset, frame.header.syncedOffset)
                // Frames without commits repeat the time of the log's last commit, so the last
                // frame is enough.
                lastTime = frame.header.lastTime
                lastReceived = frame.header.lastReceived
                // A recovery frame also has a block, but it holds two numbers and no entries.
                if frame.header.kind.holdsEvents { blocks.append(contentsOf: frame.blocks) }
            case .stop(let stop):
                tail = try scan.tail(after: stop, promised: promised ?? framesEnd)
                break walk
            }
        }
        last = SequenceNumber(rawValue: (scan.next ?? header.first).rawValue - 1)
        end = scan.offset
        chain = scan.chain
        reader = SegmentReader(
            id: id,
            file: file,
            header: header,
            dictionary: dictionary,
            blocks: blocks
        )
    }

    /// Returns true if the segment's end matches the closing entry of the manifest.
    func isClosed(by manifest: Manifest) -> Bool {
        guard let closing = manifest.closing else { return false }
        return tail == .clean && end == closing.framesEnd && last == closing.last
    }

    /// Makes frames durable that may not have been synced.
    ///
    /// The last writer may have ended before its sync, or because the sync failed. The bytes read
    /// back may then be in memory only, and a sync writes them only after they are written again.
    func makeDurable() throws(LogError) {
        // A frame may state a larger offset, which no writer does.
        let syncedOffset = min(syncedOffset, end)
        let bytes = try reader.file.bytes(at: syncedOffset, byteCount: Int(end - syncedOffset))
        try LogError.wrapping { () throws(FileError) in
            if !bytes.isEmpty { try reader.file.write(bytes.span.bytes, at: syncedOffset) }
            try reader.file.sync()
        }
    }
}

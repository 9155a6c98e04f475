// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLZ4
import CPlatform
import TidemarkLock

/// The amount of time that compression may take.
enum CompressionLevel {
    /// LZ4.
    case fast
    /// LZ4HC: the same format, found by a longer search.
    case high
}

/// Compresses the blocks of a frame; those of a large frame on two threads at once, each of which
/// takes the next block when it is free.
///
/// A single caller waits until its frame is compressed, and its other work depends on that. The
/// second core is idle then, and compressing takes as long as the sync.
struct FrameCompressor: Sendable {
    /// With fewer blocks, waking another thread (about 40 µs) costs more than it saves.
    static let sharedBlockCount = 6

    /// The compressor of the thread that writes frames.
    private let own: BlockCompressor
    /// The compressor of the other thread, while nobody has it.
    let other: SpareCompressor

    /// Creates compressors for a dictionary: fast ones while callers wait, or ones that take twenty
    /// times as long and make blocks shorter.
    init(dictionary: [UInt8], level: CompressionLevel = .fast) {
        // One per thread, because a compressor's working state is overwritten by each block.
        own = BlockCompressor(dictionary: dictionary, level: level)
        other = SpareCompressor(BlockCompressor(dictionary: dictionary, level: level))
    }

    /// Returns blocks that another thread begins to compress; `nil` if it has those of another
    /// frame.
    func sharedBlocks() -> SharedBlocks? {
        other.take().map { SharedBlocks($0, of: other) }
    }

    /// Writes the stored form of a frame's blocks to the start of a buffer with room for the raw
    /// ones; sets the stored lengths of their entries, and returns the sum.
    ///
    /// Another thread may have begun with the first blocks.
    func compress(
        _ raw: [RawFrame.Block],
        _ blocks: inout [BlockEntry],
        begun: SharedBlocks? = nil,
        into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        // Blocks that were begun for another segment have the wrong dictionary.
        var shared = begun?.owner === other ? begun : nil
        if shared == nil, blocks.count >= Self.sharedBlockCount { shared = sharedBlocks() }
        return shared?.finish(raw, &blocks, by: own, into: output)
            ?? own.compress(raw, &blocks, into: output)
    }
}

/// A compressor that one frame at a time has.
final class SpareCompressor: Sendable {
    private let spare: Lock<BlockCompressor?>

    init(_ compressor: BlockCompressor) {
        spare = Lock(compressor)
    }

    func take() -> BlockCompressor? { spare.withLock { $0.take() } }

    func putBack(_ compressor: BlockCompressor) { spare.withLock { $0 = compressor } }
}

/// Compresses blocks independently of each other, each against the segment's dictionary.
///
/// LZ4 searches a dictionary directly before the block almost twice as fast as one elsewhere in
/// memory. So the dictionary is kept before a buffer of one block, and blocks are copied there.
/// The dictionary is loaded once into a template, whose 16 KiB are copied for every such block (about
/// half a microsecond). A short block, such as that of a single save, is compressed with the template
/// attached instead, which copies nothing.
///
/// Unchecked: a frame is compressed by one writer at a time, and each of its threads has one of the
/// two compressors to itself.
final class BlockCompressor: @unchecked Sendable {
    /// LZ4's state with the dictionary loaded, and the working copy that each block overwrites.
    private let template: UnsafeMutableRawPointer
    private let stream: UnsafeMutableRawPointer
    private let streamByteCount: Int
    private let level: CompressionLevel
    private let dictionaryByteCount: Int
    private let buffer: UnsafeMutableRawBufferPointer
    private static let inputByteCount = Layout.compactedBlockByteCount
    /// The longest block that the template is attached to; for longer ones LZ4 would copy it.
    private static let attachedByteCount = 4096

    init(dictionary: [UInt8], level: CompressionLevel) {
        self.level = level
        dictionaryByteCount = dictionary.count
        buffer = .allocate(byteCount: dictionary.count + Self.inputByteCount, alignment: 16)
        buffer.copyBytes(from: dictionary)
        streamByteCount =
            level == .fast
            ? MemoryLayout<LZ4_stream_t>.size : MemoryLayout<LZ4_streamHC_t>.size
        template = .allocate(byteCount: streamByteCount, alignment: 16)
        stream = .allocate(byteCount: streamByteCount, alignment: 16)
        let text = UnsafeRawBufferPointer(buffer).text
        switch level {
        case .fast:
            let state = LZ4_initStream(template, streamByteCount)
            _ = LZ4_loadDict(state, text, Int32(dictionary.count))
            LZ4_initStream(stream, streamByteCount)
        case .high:
            let state = LZ4_initStreamHC(template, streamByteCount)
            LZ4_resetStreamHC_fast(state, LZ4HC_CLEVEL_DEFAULT)
            _ = LZ4_loadDictHC(state, text, Int32(dictionary.count))
        }
    }

    deinit {
        template.deallocate()
        stream.deallocate()
        buffer.deallocate()
    }

    /// Writes the stored form of a frame's blocks to the start of a buffer with room for the raw
    /// ones; sets the stored lengths of their entries, and returns the sum.
    func compress(
        _ raw: [RawFrame.Block],
        _ blocks: inout [BlockEntry],
        into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        var end = 0
        for index in raw.indices {
            let room = UnsafeMutableRawBufferPointer(rebasing: output[end...])
            let count = raw[index].raw.withUnsafeBytes { compress($0, into: room) }
            blocks[index].storedByteCount = UInt32(count)
            end += count
        }
        return end
    }

    /// Writes a block's stored form and returns its length.
    ///
    /// A block that does not shrink is stored uncompressed, which its equal lengths show. The stored
    /// form does not depend on the blocks that were compressed before.
    func compress(
        _ raw: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        if level == .fast, raw.count <= Self.attachedByteCount {
            return compressAttached(raw, into: output)
        }
        var source = raw
        // A longer block holds one event, and is compressed where it lies. LZ4 then finds the
        // dictionary elsewhere in memory, which is slower and changes nothing for a decoder.
        if raw.count <= Self.inputByteCount, dictionaryByteCount > 0 {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[dictionaryByteCount...])
            room.copyMemory(from: raw)
            source = UnsafeRawBufferPointer(rebasing: room[..<raw.count])
        }
        // For LZ4HC, these are 256 KiB. Only compaction compresses at that level.
        stream.copyMemory(from: template, byteCount: streamByteCount)
        let room = UnsafeMutableRawPointer(output.baseAddress)?.assumingMemoryBound(to: CChar.self)
        let stored =
            switch level {
            case .fast:
                LZ4_compress_fast_continue(
                    stream.assumingMemoryBound(to: LZ4_stream_t.self),
                    source.text,
                    room,
                    Int32(raw.count),
                    Int32(raw.count - 1),
                    1
                )
            case .high:
                LZ4_compress_HC_continue(
                    stream.assumingMemoryBound(to: LZ4_streamHC_t.self),
                    source.text,
                    room,
                    Int32(raw.count),
                    Int32(raw.count - 1)
                )
            }
        if stored > 0 { return Int(stored) }
        output.copyMemory(from: raw)
        return raw.count
    }

    /// Prefetches LZ4's two tables, which it looks up at random places.
    ///
    /// A lone save finds the processor's caches cold after the sync before it.
    private func prefetchTables() {
        for table in [stream, template] {
            for offset in stride(from: 0, to: streamByteCount, by: 1024) {
                tidemark_prefetch_bytes(table + offset, 1024)
            }
        }
    }

    /// Does the same for a short block.
    private func compressAttached(
        _ raw: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        prefetchTables()
        let stream = stream.assumingMemoryBound(to: LZ4_stream_t.self)
        LZ4_resetStream_fast(stream)
        tidemark_attach_dictionary(stream, template.assumingMemoryBound(to: LZ4_stream_t.self))
        let stored = LZ4_compress_fast_continue(
            stream,
            raw.text,
            UnsafeMutableRawPointer(output.baseAddress)?.assumingMemoryBound(to: CChar.self),
            Int32(raw.count),
            Int32(raw.count - 1),
            1
        )
        if stored > 0 { return Int(stored) }
        // A block that does not fit leaves the stream undefined.
        LZ4_initStream(stream, streamByteCount)
        output.copyMemory(from: raw)
        return raw.count
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes as LZ4 takes them.
    fileprivate var text: UnsafePointer<CChar>? {
        baseAddress?.assumingMemoryBound(to: CChar.self)
    }
}

/// Reads and decodes the stored blocks of one segment.
///
/// LZ4 reads a dictionary directly before its output about a third faster than one elsewhere in
/// memory. So the dictionary is kept before a buffer of one block, and decoded blocks are copied
/// out. Bytes read from the file also have a reusable buffer.
///
/// Unchecked: a decoder has one owner at a time, which took it out of its segment's pool.
final class BlockDecoder: @unchecked Sendable {
    private let dictionaryByteCount: Int
    private let buffer: UnsafeMutableRawBufferPointer
    private var stored: UnsafeMutableRawBufferPointer
    private static let outputByteCount = Layout.compactedBlockByteCount

    init(dictionary: [UInt8]) {
        dictionaryByteCount = dictionary.count
        buffer = .allocate(byteCount: dictionary.count + Self.outputByteCount, alignment: 16)
        buffer.copyBytes(from: dictionary)
        stored = .allocate(byteCount: Layout.blockByteCount, alignment: 16)
    }

    deinit {
        buffer.deallocate()
        stored.deallocate()
    }

    /// The most bytes of neighbouring blocks that are read at once.
    static let readByteCount = 3 * Layout.blockByteCount

    /// True if the decoder had to grow its buffer for an unusually long block.
    var isGrown: Bool { stored.count > Self.readByteCount }

    /// Returns a buffer for the stored form of a block, which is valid until the next call.
    func room(byteCount: Int) -> UnsafeMutableRawBufferPointer {
        if byteCount > stored.count {
            stored.deallocate()
            stored = .allocate(byteCount: byteCount, alignment: 16)
        }
        return UnsafeMutableRawBufferPointer(rebasing: stored[..<byteCount])
    }

    /// Fills an empty array with as many of the first raw bytes of a stored block, or with all that it has;
    /// returns false if they are not what LZ4 wrote.
    ///
    /// The rest of the block is not decoded. Nothing is allocated if the array has room, unless the block
    /// is that of one long event.
    func decode(
        _ wanted: Int,
        of stored: RawSpan,
        rawByteCount: Int,
        into bytes: inout [UInt8]
    ) -> Bool {
        let count = min(wanted, rawByteCount)
        // Unambiguous: the compressor's output is at least one byte shorter than its input.
        if stored.byteCount == rawByteCount {
            stored.withUnsafeBytes { bytes.append(first: count, of: $0) }
            return true
        }
        guard stored.byteCount <= Int(Int32.max) else { return false }
        if rawByteCount > Self.outputByteCount {
            // The output is not directly behind the dictionary, which LZ4 accepts.
            let raw = LZ4.decode(stored, rawByteCount: rawByteCount, dictionary: dictionary)
            guard let raw else { return false }
            bytes = count == raw.count ? raw : Array(raw.prefix(count))
            return true
        }
        guard let first = decodeHere(count, of: stored, rawByteCount: rawByteCount) else {
            return false
        }
        bytes.append(first: count, of: first)
        return true
    }

    /// Passes as many of the first raw bytes of a stored block, or all that it has, to a closure, and returns
    /// its result; `nil` if they are not what LZ4 wrote.
    func withFirst<Result>(
        _ wanted: Int,
        of stored: RawSpan,
        rawByteCount: Int,
        _ use: (RawSpan) -> Result
    ) -> Result? {
        let count = min(wanted, rawByteCount)
        if stored.byteCount == rawByteCount { return use(stored.extracting(first: count)) }
        if rawByteCount > Self.outputByteCount {
            var bytes: [UInt8] = []
            return decode(count, of: stored, rawByteCount: rawByteCount, into: &bytes)
                ? use(bytes.span.bytes) : nil
        }
        return decodeHere(count, of: stored, rawByteCount: rawByteCount).map { use($0.bytes) }
    }

    private var dictionary: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<dictionaryByteCount])
    }

    /// Decodes the first bytes of a compressed block to their place behind the dictionary, where they are until
    /// the next call; returns `nil` if they are not what LZ4 wrote.
    private func decodeHere(
        _ count: Int,
        of stored: RawSpan,
        rawByteCount: Int
    ) -> UnsafeRawBufferPointer? {
        guard stored.byteCount <= Int(Int32.max) else { return nil }
        let end = dictionaryByteCount + rawByteCount
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[dictionaryByteCount..<end])
        let decodedCount =
            count == rawByteCount
            ? LZ4.decode(stored, into: room, dictionary: dictionary)
            : LZ4.decode(count, of: stored, into: room, dictionary: dictionary)
        guard decodedCount == count else { return nil }
        return UnsafeRawBufferPointer(rebasing: room[..<count])
    }
}

extension [UInt8] {
    /// Appends the first bytes of a buffer, all at once: those of a slice of one are copied one by one.
    fileprivate mutating func append(first count: Int, of source: UnsafeRawBufferPointer) {
        append(addingCapacity: count) { added in
            added.withUnsafeMutableBufferPointer { room, addedCount in
                let source = UnsafeRawBufferPointer(rebasing: source[..<count])
                UnsafeMutableRawBufferPointer(room).copyMemory(from: source)
                addedCount = count
            }
        }
    }
}

/// LZ4's calls with spans and buffers for pointers; pure functions.
enum LZ4 {
    /// Decodes into a buffer and returns the bytes decoded, negative if they are not LZ4's.
    static func decode(
        _ stored: RawSpan,
        into output: UnsafeMutableRawBufferPointer,
        dictionary: UnsafeMutableRawBufferPointer
    ) -> Int {
        stored.withUnsafeBytes { source in
            Int(
                LZ4_decompress_safe_usingDict(
                    source.baseAddress?.assumingMemoryBound(to: CChar.self),
                    output.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(source.count),
                    Int32(output.count),
                    dictionary.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(dictionary.count)
                )
            )
        }
    }

    /// Decodes the first bytes into a buffer with room for all, and returns their number, or another one if
    /// the bytes are not LZ4's.
    static func decode(
        _ count: Int,
        of stored: RawSpan,
        into output: UnsafeMutableRawBufferPointer,
        dictionary: UnsafeMutableRawBufferPointer
    ) -> Int {
        stored.withUnsafeBytes { source in
            Int(
                tidemark_decompress_first(
                    source.text,
                    output.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(source.count),
                    Int32(count),
                    Int32(output.count),
                    UnsafeRawBufferPointer(dictionary).text,
                    Int32(dictionary.count)
                )
            )
        }
    }

    /// Decodes into a new array; `nil` if the bytes are not what LZ4 wrote.
    static func decode(
        _ stored: RawSpan,
        rawByteCount: Int,
        dictionary: UnsafeMutableRawBufferPointer = .init(start: nil, count: 0)
    ) -> [UInt8]? {
        let raw = [UInt8](unsafeUninitializedCapacity: rawByteCount) { buffer, count in
            let output = UnsafeMutableRawBufferPointer(
                start: buffer.baseAddress,
                count: rawByteCount
            )
            count = max(0, decode(stored, into: output, dictionary: dictionary))
        }
        return raw.count == rawByteCount ? raw : nil
    }

    /// Compresses a dictionary for its place behind a file header.
    static func compressDictionary(_ raw: [UInt8], level: CompressionLevel) -> [UInt8] {
        let bound = Int(LZ4_compressBound(Int32(raw.count)))
        return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            let stored = raw.withUnsafeBytes { source in
                let target = UnsafeMutableRawPointer(buffer.baseAddress)?
                    .assumingMemoryBound(to: CChar.self)
                let (count, room) = (Int32(source.count), Int32(buffer.count))
                return switch level {
                case .fast:
                    LZ4_compress_default(source.text, target, count, room)
                case .high:
                    LZ4_compress_HC(source.text, target, count, room, LZ4HC_CLEVEL_DEFAULT)
                }
            }
            count = Int(stored)
        }
    }
}

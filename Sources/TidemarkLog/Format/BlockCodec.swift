// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLZ4
import Dispatch

/// Compresses the blocks of a frame, those of a large one on two threads at once.
///
/// One lone caller waits for its frame to be compressed, and nothing else of it can be done
/// meanwhile: the second core is free then, and compressing takes as long as the sync.
struct FrameCompressor: Sendable {
    /// Fewer blocks are not worth waking another thread for: each takes some forty microseconds.
    private static let sharedBlockCount = 6

    private let lanes: [BlockCompressor]

    /// The stored form of some neighbouring blocks, one after another.
    struct Run: Sendable {
        var bytes: [UInt8] = []
        var storedByteCounts: [Int] = []
    }

    init(dictionary: [UInt8]) {
        lanes = [BlockCompressor(dictionary: dictionary), BlockCompressor(dictionary: dictionary)]
    }

    /// Compresses the blocks at some ranges of raw bytes, in one run or in two.
    func runs(of raw: [UInt8], blocks: [Range<Int>]) -> [Run] {
        guard blocks.count >= Self.sharedBlockCount else {
            return [lanes[0].run(of: raw, blocks: blocks[...])]
        }
        let middle = blocks.count / 2
        let halves = [blocks[..<middle], blocks[middle...]]
        let results = SharedRuns(count: halves.count)
        DispatchQueue.concurrentPerform(iterations: halves.count) { lane in
            let run = lanes[lane].run(of: raw, blocks: halves[lane])
            results.runs.withLock { $0[lane] = run }
        }
        return results.runs.withLock { $0 }
    }
}

/// Where the threads that compress a frame leave what they made.
private final class SharedRuns: Sendable {
    let runs: Lock<[FrameCompressor.Run]>

    init(count: Int) {
        runs = Lock([FrameCompressor.Run](repeating: FrameCompressor.Run(), count: count))
    }
}

/// Compresses blocks independently of each other, each against the segment's dictionary.
///
/// LZ4's packaged version cannot attach a dictionary to a stream, so the dictionary is loaded once
/// into a template and the 16 KiB state is copied for every block (about half a microsecond).
///
/// Unchecked: a frame is compressed by one writer at a time, and each of its threads has one of the
/// two compressors to itself.
final class BlockCompressor: @unchecked Sendable {
    private let template: UnsafeMutablePointer<LZ4_stream_t>
    private let stream: UnsafeMutablePointer<LZ4_stream_t>
    private let dictionary: [UInt8]

    init(dictionary: [UInt8]) {
        self.dictionary = dictionary
        template = .allocate(capacity: 1)
        stream = .allocate(capacity: 1)
        LZ4_initStream(template, MemoryLayout<LZ4_stream_t>.size)
        self.dictionary.withUnsafeBytes { bytes in
            _ = LZ4_loadDict(
                template,
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                Int32(bytes.count)
            )
        }
    }

    deinit {
        template.deallocate()
        stream.deallocate()
    }

    /// Compresses neighbouring blocks into one run.
    func run(of raw: [UInt8], blocks: ArraySlice<Range<Int>>) -> FrameCompressor.Run {
        var run = FrameCompressor.Run()
        run.bytes.reserveCapacity((blocks.last?.upperBound ?? 0) - (blocks.first?.lowerBound ?? 0))
        for block in blocks {
            let stored = append(raw.span.bytes.extracting(block), to: &run.bytes)
            run.storedByteCounts.append(stored)
        }
        return run
    }

    /// Appends a block's stored form and returns its length.
    ///
    /// A block that does not shrink is stored as it is, which its equal lengths tell.
    private func append(_ raw: RawSpan, to output: inout [UInt8]) -> Int {
        let start = output.count
        let rawByteCount = raw.byteCount
        output.append(contentsOf: repeatElement(0, count: rawByteCount))
        // The stream refers to the dictionary by address: it must stay where it was loaded from.
        let stored = dictionary.withUnsafeBytes { _ in
            stream.update(from: template, count: 1)
            return output.withUnsafeMutableBytes { destination in
                raw.withUnsafeBytes { source in
                    LZ4_compress_fast_continue(
                        stream,
                        source.baseAddress?.assumingMemoryBound(to: CChar.self),
                        destination.baseAddress?.advanced(by: start)
                            .assumingMemoryBound(to: CChar.self),
                        Int32(rawByteCount),
                        Int32(rawByteCount - 1),
                        1
                    )
                }
            }
        }
        if stored > 0 {
            output.removeLast(rawByteCount - Int(stored))
            return Int(stored)
        }
        output.withUnsafeMutableBytes { destination in
            raw.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(rebasing: destination[start...])
                    .copyMemory(from: source)
            }
        }
        return rawByteCount
    }
}

/// Reads and decodes the stored blocks of one segment.
///
/// LZ4 reads a dictionary that lies right before its output about a third faster than one that
/// lies elsewhere. So the dictionary is kept before a buffer of one block, and what was decoded
/// there is copied out. What is read from the file has a buffer too, which is used again.
///
/// Unchecked: a decoder belongs to whoever has taken it out of its segment's pool.
final class BlockDecoder: @unchecked Sendable {
    private let dictionaryByteCount: Int
    private let buffer: UnsafeMutableRawBufferPointer
    private var stored: UnsafeMutableRawBufferPointer
    private static let outputByteCount = 2 * Layout.blockByteCount

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

    /// Whether it had to make room for a block that is longer than others.
    var isGrown: Bool { stored.count > Layout.blockByteCount }

    /// Lends room for the stored form of a block, which stays until the next one is asked for.
    func room(byteCount: Int) -> UnsafeMutableRawBufferPointer {
        if byteCount > stored.count {
            stored.deallocate()
            stored = .allocate(byteCount: byteCount, alignment: 16)
        }
        return UnsafeMutableRawBufferPointer(rebasing: stored[..<byteCount])
    }

    /// The raw bytes of a stored block; `nil` if they are not what LZ4 wrote.
    func decode(_ stored: RawSpan, rawByteCount: Int) -> [UInt8]? {
        if stored.byteCount == rawByteCount { return stored.withUnsafeBytes { [UInt8]($0) } }
        let dictionary = UnsafeMutableRawBufferPointer(rebasing: buffer[..<dictionaryByteCount])
        if rawByteCount > Self.outputByteCount {
            return LZ4.decode(stored, rawByteCount: rawByteCount, dictionary: dictionary)
        }
        let output = UnsafeMutableRawBufferPointer(rebasing: buffer[dictionaryByteCount...])
        let byteCount = LZ4.decode(
            stored,
            into: UnsafeMutableRawBufferPointer(rebasing: output[..<rawByteCount]),
            dictionary: dictionary
        )
        guard byteCount == rawByteCount else { return nil }
        return [UInt8](output[..<rawByteCount])
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
    static func compressDictionary(_ raw: [UInt8]) -> [UInt8] {
        let bound = Int(LZ4_compressBound(Int32(raw.count)))
        return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            let stored = raw.withUnsafeBytes { source in
                LZ4_compress_HC(
                    source.baseAddress?.assumingMemoryBound(to: CChar.self),
                    UnsafeMutableRawPointer(buffer.baseAddress)?
                        .assumingMemoryBound(to: CChar.self),
                    Int32(source.count),
                    Int32(buffer.count),
                    LZ4HC_CLEVEL_DEFAULT
                )
            }
            count = Int(stored)
        }
    }
}

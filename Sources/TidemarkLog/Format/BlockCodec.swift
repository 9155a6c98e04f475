// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLZ4

/// Compresses blocks independently of each other, each against the segment's dictionary.
///
/// LZ4's packaged version cannot attach a dictionary to a stream, so the dictionary is loaded once
/// into a template and the 16 KiB state is copied for every block (about half a microsecond).
/// Not `Sendable`: one compressor belongs to one writer.
final class BlockCompressor {
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

    /// Appends a block's stored form and returns its length.
    ///
    /// A block that does not shrink is stored as it is, which its equal lengths tell.
    func append(_ raw: RawSpan, to output: inout [UInt8]) -> Int {
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

/// Decodes stored blocks; pure functions.
enum BlockDecoder {
    /// The raw bytes of a stored block; `nil` if they are not what LZ4 wrote.
    static func decode(
        _ stored: RawSpan,
        rawByteCount: Int,
        dictionary: [UInt8]
    ) -> [UInt8]? {
        if stored.byteCount == rawByteCount {
            return stored.withUnsafeBytes { [UInt8]($0) }
        }
        var decoded: Int32 = -1
        let raw = [UInt8](unsafeUninitializedCapacity: rawByteCount) { buffer, count in
            decoded = stored.withUnsafeBytes { source in
                dictionary.withUnsafeBytes { dictionary in
                    LZ4_decompress_safe_usingDict(
                        source.baseAddress?.assumingMemoryBound(to: CChar.self),
                        UnsafeMutableRawPointer(buffer.baseAddress)?
                            .assumingMemoryBound(to: CChar.self),
                        Int32(source.count),
                        Int32(rawByteCount),
                        dictionary.baseAddress?.assumingMemoryBound(to: CChar.self),
                        Int32(dictionary.count)
                    )
                }
            }
            count = max(0, Int(decoded))
        }
        return decoded == Int32(rawByteCount) ? raw : nil
    }

    /// Compresses a dictionary for its place behind a file header.
    static func compressDictionary(_ raw: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(LZ4_compressBound(Int32(raw.count)))) {
            buffer,
            count in
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

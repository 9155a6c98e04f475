// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// A prepared segment: zero-filled to its full length and synced, with its dictionary, but without
/// a header and a final name.
///
/// All space for frames is allocated here. A full disk is therefore detected before a commit is
/// accepted, and a sync allocates nothing.
struct SpareSegment: Sendable {
    let path: String
    /// The header without the first position, the incarnation and the generation.
    let template: FileHeader
    let dictionary: [UInt8]
    /// Compresses the segment's frames; `nil` if the store has not been used for some time.
    ///
    /// It is made with the spare, because loading the dictionary takes as long as a sync.
    var compressor: FrameCompressor?

    /// The number of bytes that frames can take.
    var room: Int { Int(template.allocatedByteCount) - template.framesOffset }
}

/// Bytes that later blocks are likely to resemble.
struct DictionarySample: Sendable {
    var bytes: [UInt8] = []
    /// The segment of the sample; erasing that segment's content erases the dictionary too.
    var source = SegmentID(first: .zero)

    /// Takes samples that are spread over a segment's blocks.
    ///
    /// Many short samples are better than few long ones, because they hold more different names and
    /// phrases.
    static func taken(from reader: SegmentReader) throws(LogError) -> DictionarySample {
        let pieceByteCount = 2 << 10
        let pieceCount = Layout.dictionaryByteCount / pieceByteCount
        let blockCount = reader.blockCount
        var sample = DictionarySample(source: reader.id)
        var next = 0
        for piece in 0..<pieceCount {
            let index = max(next, piece * blockCount / pieceCount)
            guard let entry = reader.entry(at: index) else { break }
            next = index + 1
            // Later blocks do not resemble maps.
            if entry.isMap { continue }
            sample.bytes.append(contentsOf: try reader.firstBytes(pieceByteCount, of: entry))
        }
        return sample
    }
}

extension DictionarySample {
    /// Takes samples of one or two lines from anywhere in the blocks of some segments.
    ///
    /// A block of one zone resembles few others, so many samples are needed. Each takes a decoding,
    /// which only compaction has time for.
    static func scattered(over readers: [SegmentReader]) throws(LogError) -> [UInt8] {
        let pieceByteCount = 128
        let pieceCount = Layout.dictionaryByteCount / pieceByteCount
        let blocks = readers.flatMap { reader in
            reader.entries(0..<reader.blockCount).filter { !$0.isMap }.map { (reader, $0) }
        }
        var bytes: [UInt8] = []
        if blocks.isEmpty { return bytes }
        for piece in 0..<pieceCount {
            let (reader, entry) = blocks[piece * blocks.count / pieceCount]
            let block = try reader.decode(entry).bytes
            // A prime spreads the places evenly, even if many samples come from one block.
            let start = piece * 7_919 % max(1, block.count - pieceByteCount)
            bytes.append(contentsOf: block[start...].prefix(pieceByteCount))
        }
        return bytes
    }
}

extension FileHeader {
    /// Sets the dictionary's fields, and returns the bytes to write after the header.
    mutating func setDictionary(
        _ sample: DictionarySample,
        level: CompressionLevel
    ) -> [UInt8] {
        let stored =
            sample.bytes.isEmpty ? [] : LZ4.compressDictionary(sample.bytes, level: level)
        dictionary.storedByteCount = UInt32(stored.count)
        dictionary.rawByteCount = UInt32(sample.bytes.count)
        dictionary.sourceFirst = sample.source.first
        dictionary.sourceGeneration = sample.source.generation
        dictionary.checksum = xxh3(
            stored.span.bytes,
            seed: Layout.seed(salt: salt, offset: UInt64(Layout.fileHeaderByteCount))
        )
        return stored
    }
}

extension SpareSegment {
    /// Writes the header, renames the file, and makes both durable.
    func becomeSegment(
        _ id: SegmentID,
        incarnation: Incarnation,
        in folder: StoreFolder,
        environment: LogEnvironment
    ) throws(LogError) -> SegmentReader {
        var header = template
        header.first = id.first
        header.generation = id.generation
        header.incarnation = incarnation
        header.created = environment.now()
        let bytes = header.encoded()
        let fileSystem = environment.fileSystem
        let opened = try LogError.wrapping { () throws(FileError) -> any LogFile in
            // The header is synced before the rename. After a crash, a file with a segment's name
            // therefore has a header.
            let file = try environment.withDescriptor { () throws(FileError) in
                try fileSystem.open(path, .readWrite)
            }
            try file.write(bytes.span.bytes, at: 0)
            try file.sync()
            file.close()
            try fileSystem.rename(path, to: folder.segment(id))
            // Without a descriptor, this fails before it syncs, and may be repeated.
            try environment.withDescriptor { () throws(FileError) in
                try fileSystem.syncDirectory(folder.segments)
            }
            // Opened again, because errors name the path by which a file was opened.
            return try environment.withDescriptor { () throws(FileError) in
                try fileSystem.open(folder.segment(id), .readWrite)
            }
        }
        return SegmentReader(
            id: id,
            file: opened,
            header: header,
            dictionary: dictionary,
            blocks: []
        )
    }
}

extension LogEnvironment {
    /// Makes a call, and repeats it while the process has no free descriptor, for at most ten seconds.
    ///
    /// The writer would end for a want that may pass, and the store with it until it is opened again.
    fileprivate func withDescriptor<Result>(
        _ call: () throws(FileError) -> Result
    ) throws(FileError) -> Result {
        // In a simulation nobody else closes a file meanwhile.
        for _ in 0..<(writesInline ? 0 : 1000) {
            do throws(FileError) {
                return try call()
            } catch {
                guard error.isOutOfDescriptors else { throw error }
            }
            pauseThread(for: .milliseconds(10))
        }
        return try call()
    }
}

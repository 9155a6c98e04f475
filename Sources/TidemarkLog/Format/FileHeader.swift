// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The first 256 bytes of a segment, a manifest or a journal segment, with a checksum of their own.
package struct FileHeader: Hashable, Sendable {
    package var kind: FileKind
    /// The version of the format, which is also the oldest that its reader must know.
    package var version = Layout.plainVersion
    package var store: StoreID
    /// The incarnation that wrote the file.
    package var incarnation: Incarnation
    /// The first sequence number that the file covers; a manifest's own number in a manifest.
    package var first: SequenceNumber
    /// The number of times that compaction has rewritten the covered range.
    package var generation: UInt32
    /// The creation time of the file, in milliseconds since 1970.
    package var created: Int64
    /// Random; part of the seed of every checksum in the file.
    package var salt: UInt64
    /// The length with which the file was created and synced; a shorter file is damaged.
    package var allocatedByteCount: UInt64 = 0
    /// The dictionary that follows the header, empty in a store's first segment.
    package var dictionary = DictionaryReference()

    /// A reference to the dictionary that follows a header.
    package struct DictionaryReference: Hashable, Sendable {
        package var storedByteCount: UInt32 = 0
        package var rawByteCount: UInt32 = 0
        /// The checksum of the stored bytes, seeded by their place.
        package var checksum: UInt64 = 0
        /// The segment that the sample was taken from; erasing it erases the dictionary too.
        package var sourceFirst = SequenceNumber.zero
        package var sourceGeneration: UInt32 = 0
    }

    /// The offset of the first frame.
    package var framesOffset: Int {
        Layout.aligned(Layout.fileHeaderByteCount + Int(dictionary.storedByteCount))
    }

    /// The chain word of the first frame: the header's own checksum.
    package var chain: UInt64 {
        encoded().span.bytes.integer(at: Layout.fileHeaderByteCount - 8)
    }

    /// Returns the header's 256 bytes.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Layout.fileHeaderByteCount)
        bytes.append(integer: Layout.fileMagic)
        bytes.append(integer: version)
        bytes.append(integer: version)
        bytes.append(kind.rawValue)
        bytes.pad(to: 16)
        bytes.append(integer: store.low)
        bytes.append(integer: store.high)
        bytes.append(integer: incarnation.rawValue)
        bytes.append(integer: first.rawValue)
        bytes.append(integer: generation)
        bytes.pad(to: 56)
        bytes.append(integer: created)
        bytes.append(integer: salt)
        bytes.append(integer: dictionary.storedByteCount)
        bytes.append(integer: dictionary.rawByteCount)
        bytes.append(integer: dictionary.checksum)
        bytes.append(integer: dictionary.sourceFirst.rawValue)
        bytes.append(integer: dictionary.sourceGeneration)
        bytes.pad(to: 104)
        bytes.append(integer: allocatedByteCount)
        bytes.pad(to: Layout.fileHeaderByteCount - 8)
        bytes.append(integer: xxh3(bytes.span.bytes, seed: 0))
        return bytes
    }

    /// The reason why bytes are not a header that this build reads.
    package enum DecodingFailure: Error, Hashable, Sendable {
        case tooShort
        case notTidemark
        case damaged
        case newer(version: UInt16, oldestReader: UInt16, known: UInt16)
        case wrongKind(UInt8)
    }

    /// Reads a header from the start of the span, which may be longer.
    package init(
        decoding bytes: RawSpan,
        expecting expectedKind: FileKind
    ) throws(DecodingFailure) {
        guard bytes.byteCount >= Layout.fileHeaderByteCount else { throw .tooShort }
        guard bytes.integer(at: 0, as: UInt64.self) == Layout.fileMagic else { throw .notTidemark }
        let checked = Layout.fileHeaderByteCount - 8
        guard xxh3(bytes.extracting(0..<checked), seed: 0) == bytes.integer(at: checked) else {
            throw .damaged
        }
        // After the checksum and before all other fields: a damaged file must not pass as a newer
        // one, and a newer one may use the fields differently.
        let oldestReader: UInt16 = bytes.integer(at: 10)
        let known = Layout.version(of: expectedKind)
        guard oldestReader <= known else {
            throw .newer(version: bytes.integer(at: 8), oldestReader: oldestReader, known: known)
        }
        guard bytes.byte(at: 12) == expectedKind.rawValue else {
            throw .wrongKind(bytes.byte(at: 12))
        }
        kind = expectedKind
        version = bytes.integer(at: 8)
        store = StoreID(low: bytes.integer(at: 16), high: bytes.integer(at: 24))
        incarnation = Incarnation(rawValue: bytes.integer(at: 32))
        first = bytes.sequence(at: 40)
        guard first.rawValue <= Layout.lastPosition, first != .zero || kind != .segment else {
            throw .damaged
        }
        generation = bytes.integer(at: 48)
        created = bytes.integer(at: 56)
        salt = bytes.integer(at: 64)
        allocatedByteCount = bytes.integer(at: 104)
        dictionary = DictionaryReference(
            storedByteCount: bytes.integer(at: 72),
            rawByteCount: bytes.integer(at: 76),
            checksum: bytes.integer(at: 80),
            sourceFirst: bytes.sequence(at: 88),
            sourceGeneration: bytes.integer(at: 96)
        )
    }

    /// Makes a header for a new file.
    package init(
        kind: FileKind,
        store: StoreID,
        incarnation: Incarnation,
        first: SequenceNumber,
        generation: UInt32 = 0,
        created: Int64,
        salt: UInt64
    ) {
        self.kind = kind
        self.store = store
        self.incarnation = incarnation
        self.first = first
        self.generation = generation
        self.created = created
        self.salt = salt
    }
}

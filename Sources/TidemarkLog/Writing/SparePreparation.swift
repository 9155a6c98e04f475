// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A spare segment that is being filled with zeros.
///
/// It is filled in parts while commits are written. A sync of the whole would delay those of the
/// commits by a millisecond for every two megabytes.
struct SparePreparation: Sendable {
    private let path: String
    private let fileSystem: any FileSystem
    /// The header without the dictionary's fields and the length.
    private let header: FileHeader
    /// The number of bytes that frames can take.
    let room: Int
    private var filledByteCount = 0

    /// The least number of bytes that are filled and synced at once.
    private static let partByteCount = 256 << 10

    /// Begins a spare segment with room for a number of bytes of frames.
    init(
        room: Int,
        number: UInt64,
        store: StoreID,
        in folder: StoreFolder,
        environment: LogEnvironment
    ) {
        self.room = Layout.aligned(room)
        path = folder.spare(number)
        fileSystem = environment.fileSystem
        header = FileHeader(
            kind: .segment,
            store: store,
            incarnation: Incarnation(rawValue: 0),
            first: .zero,
            created: 0,
            salt: environment.random()
        )
    }

    private var missingByteCount: Int { room - filledByteCount }

    /// The share of the missing room that is worth a sync.
    var leastShare: Double {
        let part = min(Self.partByteCount, room / 4)
        return min(1, Double(part) / Double(max(missingByteCount, 1)))
    }

    /// Fills a share of the missing room, and at least ``leastShare``; returns true if no room is
    /// missing any more.
    ///
    /// After an error the file is gone.
    mutating func fill(_ share: Double) throws(LogError) -> Bool {
        let part = Double(missingByteCount) * max(share, leastShare)
        try grow(to: filledByteCount + min(Int(part.rounded(.up)), missingByteCount))
        return missingByteCount == 0
    }

    /// Fills all that is missing, writes the dictionary, and returns the segment.
    ///
    /// A segment that is used at once is not synced here: `becomeSegment` syncs all of it. After an
    /// error the file is gone.
    consuming func finish(
        _ sample: DictionarySample,
        isUsedAtOnce: Bool = false
    ) throws(LogError) -> SpareSegment {
        var template = header
        let stored = template.setDictionary(sample, level: .fast)
        let byteCount = template.framesOffset + room
        template.allocatedByteCount = UInt64(byteCount)
        try grow(to: byteCount, dictionary: stored, isSynced: !isUsedAtOnce)
        return SpareSegment(
            path: path,
            template: template,
            dictionary: sample.bytes,
            compressor: FrameCompressor(dictionary: sample.bytes)
        )
    }

    private mutating func grow(
        to byteCount: Int,
        dictionary: [UInt8] = [],
        isSynced: Bool = true
    ) throws(LogError) {
        let isNew = filledByteCount == 0
        try LogError.wrapping { () throws(FileError) in
            // Numbers start anew with each open, so a crash may have left a file of this name.
            if isNew, try fileSystem.exists(path) { try fileSystem.remove(path) }
            // The first 256 bytes stay zero until `becomeSegment`, so a file outside of the log has
            // no header.
            do throws(FileError) {
                let file = try fileSystem.open(path, isNew ? .create : .readWrite)
                // It may be long until the next part, or until the segment is needed.
                defer { file.close() }
                try file.allocate(to: UInt64(byteCount))
                if !dictionary.isEmpty {
                    let offset = UInt64(Layout.fileHeaderByteCount)
                    try file.write(dictionary.span.bytes, at: offset)
                }
                if isSynced { try file.sync() }
            } catch {
                // Free the space at once; report only the first failure.
                remove()
                throw error
            }
        }
        filledByteCount = byteCount
    }

    /// Removes the file of a segment that will not be used.
    func remove() { try? fileSystem.remove(path) }
}

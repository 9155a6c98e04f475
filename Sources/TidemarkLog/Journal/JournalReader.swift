// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reads a journal, even while a writer has it open.
///
/// Only the segment that is being read is held in memory.
package struct JournalReader {
    /// The damage that was skipped.
    package private(set) var damage: [LogError] = []
    /// The number of segments that were read.
    package private(set) var segmentCount = 0
    /// The size of those segments, in bytes.
    package private(set) var byteCount: UInt64 = 0
    /// The number of sound entries in them.
    package private(set) var entryCount = 0
    /// The number of entries that could not be written, as far as later entries record it.
    package private(set) var lostCount: UInt64 = 0

    private let folder: StoreFolder
    private let store: StoreID
    private let fileSystem: any FileSystem

    /// Creates a reader, without reading anything yet.
    package init(_ folder: StoreFolder, of store: StoreID, _ fileSystem: any FileSystem) {
        self.folder = folder
        self.store = store
        self.fileSystem = fileSystem
    }

    /// Returns the numbers of the existing segments, oldest first.
    static func numbers(
        in folder: StoreFolder,
        _ fileSystem: any FileSystem
    ) throws(FileError) -> [UInt64] {
        guard try fileSystem.exists(folder.journal) else { return [] }
        return try fileSystem.list(folder.journal).compactMap(StoreFolder.journalNumber).sorted()
    }

    /// Visits all entries, oldest first, with their time, the number of entries lost before, and
    /// their content.
    ///
    /// Damage and read errors are recorded and skipped.
    package mutating func read(_ visit: (Int64, UInt32, RawSpan) -> Void) {
        do throws(FileError) {
            for number in try Self.numbers(in: folder, fileSystem) { try read(number, visit) }
        } catch {
            note(error)
        }
    }

    private mutating func read(
        _ number: UInt64,
        _ visit: (Int64, UInt32, RawSpan) -> Void
    ) throws(FileError) {
        let path = folder.journalSegment(number)
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try fileSystem.contents(of: path)
        } catch {
            // The segment was removed for its age since the folder was listed.
            if !error.isMissing { note(error) }
            return
        }
        segmentCount += 1
        byteCount += UInt64(bytes.count)
        let header: FileHeader
        do throws(FileHeader.DecodingFailure) {
            header = try FileHeader(decoding: bytes.span.bytes, expecting: .journal)
            guard header.store == store else {
                damage.append(
                    LogError(
                        .foreignFile,
                        "This segment of a journal belongs to the store \(header.store); it is "
                            + "skipped.",
                        path: path
                    )
                )
                return
            }
        } catch {
            if case .newer = error {
                damage.append(LogError(error, path: path, found: bytes.count))
                return
            }
            // A crash may leave a file that has a name but no content.
            if !bytes.span.bytes.isZero(in: 0..<bytes.count) {
                damage.append(
                    LogError(
                        .corrupted,
                        "The header of this journal segment cannot be read (\(error)); the "
                            + "entries in it are lost.",
                        path: path,
                        offset: 0
                    )
                )
            }
            return
        }
        let span = bytes.span.bytes
        let walk = JournalEntries.walk(span, salt: header.salt) { entry in
            entryCount += 1
            lostCount += UInt64(entry.lostCount)
            visit(entry.time, entry.lostCount, span.extracting(entry.content))
            return true
        }
        for place in walk.damage {
            damage.append(
                LogError(
                    .corrupted,
                    "\(place.count) bytes of the journal are damaged. The entries in them "
                        + "are lost; nothing else is.",
                    path: path,
                    offset: UInt64(place.lowerBound)
                )
            )
        }
    }

    private mutating func note(_ error: FileError) {
        damage.append(LogError(.unreadable, error.description, path: error.path, cause: error))
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reads a journal, whether or not somebody writes it.
///
/// A segment is held in memory while it is read, and no other.
package struct JournalReader {
    /// What could not be read, and was passed over.
    package private(set) var damage: [LogError] = []
    /// Segments that were read.
    package private(set) var segmentCount = 0
    /// Their bytes.
    package private(set) var byteCount: UInt64 = 0
    /// Sound entries in them.
    package private(set) var entryCount = 0
    /// Entries that could not be written, as far as later ones say so.
    package private(set) var lostCount: UInt64 = 0

    private let folder: StoreFolder
    private let store: StoreID
    private let fileSystem: any FileSystem

    /// Reads nothing yet.
    package init(_ folder: StoreFolder, of store: StoreID, _ fileSystem: any FileSystem) {
        self.folder = folder
        self.store = store
        self.fileSystem = fileSystem
    }

    /// The numbers of the segments there are, oldest first.
    static func numbers(
        in folder: StoreFolder,
        _ fileSystem: any FileSystem
    ) throws(FileError) -> [UInt64] {
        guard try fileSystem.exists(folder.journal) else { return [] }
        return try fileSystem.list(folder.journal).compactMap(StoreFolder.journalNumber).sorted()
    }

    /// Visits all entries, oldest first: when they came, how many were lost before, and what they say.
    ///
    /// What is damaged is passed over and noted; so is what the disk refuses to read.
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
            // Its time had come since the folder was listed.
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
                        "This segment of a journal is of the store \(header.store); it is passed over.",
                        path: path
                    )
                )
                return
            }
        } catch {
            // A crash may leave a file of which nothing but the name is there.
            if !bytes.span.bytes.isZero(in: 0..<bytes.count) {
                damage.append(
                    LogError(
                        .corrupted,
                        "This is no header of a journal's segment (\(error)); the entries in it are "
                            + "lost.",
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
                    "\(place.range.count) bytes of the journal are not what was written; the entries "
                        + "in them are lost, and nothing else is.",
                    path: path,
                    offset: UInt64(place.range.lowerBound)
                )
            )
        }
    }

    private mutating func note(_ error: FileError) {
        damage.append(LogError(.unreadable, error.description, path: error.path, cause: error))
    }
}

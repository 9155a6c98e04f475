// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The identity of a segment file, as given by its name.
package struct SegmentID: Hashable, Comparable, Codable, Sendable {
    /// The first position it covers.
    package var first: SequenceNumber
    /// The number of times that the range has been rewritten.
    package var generation: UInt32

    package init(first: SequenceNumber, generation: UInt32 = 0) {
        self.first = first
        self.generation = generation
    }

    package static func < (lhs: SegmentID, rhs: SegmentID) -> Bool {
        lhs.first == rhs.first ? lhs.generation < rhs.generation : lhs.first < rhs.first
    }

    /// The name of the segment's file: twenty digits, a hyphen, the generation, `.seg`.
    package var fileName: String {
        padded(first.rawValue, to: 20) + "-" + String(generation) + ".seg"
    }

    /// Parses a file's name; `nil` if it is not exactly one that `fileName` returns.
    package init?(fileName: String) {
        guard fileName.hasSuffix(".seg") else { return nil }
        let parts = fileName.dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = UInt64(parts[0]), let generation = UInt32(parts[1])
        else { return nil }
        self.init(first: SequenceNumber(rawValue: first), generation: generation)
        // `UInt64(_:)` also accepts a sign and any number of leading zeros. Two names must not lead
        // to one segment.
        guard self.fileName == fileName else { return nil }
    }
}

/// The names of all files that the log keeps in a store's folder; no other code makes or parses
/// them.
package struct StoreFolder: Hashable, Sendable {
    /// The path of the store's folder, as it was given.
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// The parent of the store's folder.
    package var parent: String {
        guard let end = path.lastIndex(where: { $0 != "/" }) else { return "/" }
        guard let slash = path[...end].lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Locked exclusively by the writer while the store is open.
    package var lock: String { path + "/LOCK" }
    /// Names the current manifest.
    package var current: String { path + "/CURRENT" }
    /// The next `CURRENT`, until it is renamed.
    package var nextCurrent: String { path + "/CURRENT.tmp" }
    /// The name of `CURRENT` while a salvage is unfinished.
    package var unfinishedCurrent: String { path + "/CURRENT.unfinished" }
    /// The marker of an unfinished backup, restore or fork into a new folder: present from the
    /// first call until `CURRENT` exists.
    package var copying: String { path + "/COPYING" }
    /// Disk space that is reserved for compacting a store on a full disk.
    package var reserve: String { path + "/RESERVE" }
    /// The record of an unfinished erasure.
    package var erasing: String { path + "/ERASING" }
    /// The next `ERASING`, until it is renamed.
    package var nextErasing: String { path + "/ERASING.tmp" }
    /// The folder of segments.
    package var segments: String { path + "/segments" }
    /// The folder of assets' bytes.
    package var assets: String { path + "/assets" }
    /// The folder of view indexes: a cache.
    package var views: String { path + "/views" }
    /// The folder of the query index: a cache.
    package var queries: String { path + "/queries" }
    /// The name of the query index in its folder, with which the names of SQLite's other files begin.
    package static let queryIndexName = "index.sqlite"

    /// The folder of the journal.
    package var journal: String { path + "/journal" }

    /// Returns the path of a segment's file.
    package func segment(_ id: SegmentID) -> String { segments + "/" + id.fileName }

    /// Returns the path of a segment that is being prepared.
    package func spare(_ number: UInt64) -> String { segments + "/spare-\(number).tmp" }

    /// Returns true if a name in the segments' folder belongs to a segment being prepared.
    package static func isSpare(_ name: String) -> Bool {
        name.hasPrefix("spare-") && name.hasSuffix(".tmp")
    }

    /// Returns the path of a segment of the journal.
    package func journalSegment(_ number: UInt64) -> String {
        journal + "/" + padded(number, to: 8) + ".jnl"
    }

    /// Returns the number in the name of a journal's segment; `nil` for any other name.
    package static func journalNumber(_ name: String) -> UInt64? {
        guard name.hasSuffix(".jnl"), let number = UInt64(name.dropLast(4)),
            padded(number, to: 8) + ".jnl" == name,
            // Counting never reaches such a number, and the next number must exist too.
            number <= UInt64(Int64.max)
        else { return nil }
        return number
    }

    /// Rejects a folder inside a store's folder, where it would be removed with the store or its
    /// caches.
    func checkOutsideOfStores(_ fileSystem: any FileSystem) throws(LogError) {
        var above = StoreFolder(parent)
        // No file of a store lies deeper. The system follows links on the way up.
        for _ in 0..<4 {
            let isStore: Bool
            do throws(FileError) {
                let hasCurrent = try fileSystem.exists(above.current)
                isStore = try fileSystem.exists(above.segments) && hasCurrent
            } catch {
                // If the user may not look there, no store of the user can be there.
                if error.isForbidden { return }
                throw LogError(error)
            }
            guard !isStore else {
                throw LogError(
                    .foreignFile,
                    "The folder is inside a store's folder, \(above.path). Give a path outside of "
                        + "any store.",
                    path: path
                )
            }
            above = StoreFolder(above.path + "/..")
        }
    }

    /// Returns the path of a manifest's file.
    package func manifest(_ number: UInt64) -> String { path + "/" + Self.manifestName(number) }

    /// Returns a manifest's name: `manifest-` and at least six digits.
    package static func manifestName(_ number: UInt64) -> String {
        "manifest-" + padded(number, to: 6)
    }

    /// Returns the number in a manifest's name; `nil` for any other name.
    package static func manifestNumber(_ name: String) -> UInt64? {
        guard name.hasPrefix("manifest-"), let number = UInt64(name.dropFirst(9)),
            manifestName(number) == name
        else { return nil }
        return number
    }
}

private func padded(_ number: UInt64, to digitCount: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
}

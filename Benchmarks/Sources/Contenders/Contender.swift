// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Workload

/// A kind of work, for engines that are laid out differently for each.
package enum Work: String, CaseIterable, Sendable {
    case oneWriter, manyWriters, insertBatches, updateBatches, firstSync, firstSyncAfterUpdates
    case smallDelta
    /// A first sync without blocks that are kept decoded; for Tidemark alone.
    case firstSyncUncached
}

/// An engine that does the work of a sync server: keeps the current version of each record of a
/// zone under a sequence number that grows with every save.
///
/// Every contender gets the same changes in the same commits. What `save` returns from is on disk
/// (`fdatasync`), unless the store was opened for filling. One task at a time uses a contender.
package protocol Contender: AnyObject, Sendable {
    /// A commit in the form the engine takes, made before the clock starts.
    associatedtype Prepared: Sendable

    /// What it is called in tables.
    static var name: String { get }
    /// Its version, and what was set about it for a work.
    static func conditions(for work: Work) -> String

    /// Opens the store in a folder, creating it if there is none.
    static func open(_ folder: String, for work: Work, durability: Durability) async throws -> Self

    /// Makes a commit ready.
    func prepare(_ batch: Batch, _ pages: PageSource) throws -> Prepared
    /// Saves one commit, all or nothing.
    func save(_ prepared: Prepared) async throws
    /// Saves the commits of several writers at the same time, each writer's one after another.
    func save(writers: [[Prepared]]) async throws

    /// Brings an empty store to the state at the end of a history, as fast as it can.
    func fill(_ history: History, _ pages: PageSource) async throws
    /// Does what the engine has for putting its files in order.
    func compact() async throws

    /// Where a zone's log ends now: what a device would keep as its token.
    func position(inZone zone: Int) async throws -> String
    /// Hands every live record of a zone to the sink.
    func readAll(zone: Int, into sink: Sink) async throws
    /// Hands the records of a zone that changed after a position to the sink.
    func readChanges(zone: Int, since position: String, into sink: Sink) async throws
    /// Reads the page of one record, whatever its version; `nil` if there is none.
    func page(of change: Change) async throws -> Page?

    /// Closes the store.
    func close() async throws

    /// Throws away all that the store in a folder derives from its log, computes it again, and says
    /// how many events a second that was; `nil` for an engine without a log to replay.
    static func replay(_ folder: String) async throws -> Double?

    /// Stores a real history in an empty folder, puts it in order, and says how many bytes that
    /// takes without spare space; `nil` if the engine cannot keep what is asked.
    static func bytesOnDisk(
        of history: [RealCommit],
        keeping: Kept,
        in folder: String
    ) async throws -> Stored?
}

/// What a stored history takes.
package struct Stored: Sendable {
    /// Bytes of all of it.
    package var byteCount: Int
    /// Bytes of that which could be computed again from the rest; `nil` if nothing could.
    package var viewByteCount: Int?
    /// Bytes beside those, which hold nothing now.
    package var spareByteCount: Int?
    /// Bytes of all of it before it was put in order.
    package var writtenByteCount: Int?
}

/// What of a history is stored.
package enum Kept: Sendable {
    /// Every version of every record, with who and when.
    case history
    /// The live records only.
    case current
}

/// When a save counts as done.
package enum Durability: String, Sendable {
    /// After `fdatasync`.
    case full
    /// At once. For filling a store before measuring it, and for nothing that is measured.
    case none
}

/// Where records that were read go: each is copied into a buffer, as a server would to send it.
package final class Sink {
    private static let capacity = 1 << 20
    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    private var used = 0
    /// Records taken since the last reset.
    package private(set) var recordCount = 0
    /// Bytes of names and values taken since the last reset.
    package private(set) var byteCount = 0
    /// The highest sequence number seen.
    package private(set) var lastSequence: UInt64 = 0

    /// An empty sink with a buffer of 1 MiB.
    package init() {}

    deinit { buffer.deallocate() }

    /// Copies one record.
    @inline(__always)
    package func take(
        name: UnsafeRawBufferPointer,
        sequence: UInt64,
        value: UnsafeRawBufferPointer
    ) {
        let total = name.count + value.count
        if used + total > Self.capacity {
            precondition(total <= Self.capacity, "a record larger than the sink's buffer")
            used = 0
        }
        append(name)
        append(value)
        recordCount += 1
        byteCount += total
        lastSequence = max(lastSequence, sequence)
    }

    /// Copies more of the record that was taken last.
    func add(_ parts: UnsafeRawBufferPointer...) {
        for part in parts {
            if used + part.count > Self.capacity { used = 0 }
            append(part)
            byteCount += part.count
        }
    }

    @inline(__always)
    private func append(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        (buffer + used).copyMemory(from: start, byteCount: bytes.count)
        used += bytes.count
    }

    /// Forgets what was taken.
    package func reset() {
        used = 0
        recordCount = 0
        byteCount = 0
        lastSequence = 0
    }
}

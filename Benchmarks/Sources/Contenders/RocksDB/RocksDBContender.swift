// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CRocksDB
import Foundation
import Synchronization
import Workload

/// RocksDB: WAL with a sync for each write, LZ4, one write batch for each commit.
///
/// Two column families: (zone, name) → sequence, and (zone, sequence) → name and value, so that
/// reading in the order of changes is one walk.
///
/// Unchecked: RocksDB allows any number of threads, and all other state is behind a lock.
package final class RocksDBContender: Contender, @unchecked Sendable {
    package static let name = "rocksdb"

    private static let names = 1
    private static let sync = 2
    private let database: RocksDatabase
    private let lastSequence: Mutex<UInt64>

    package static func conditions(for work: Work) -> String {
        "RocksDB, WAL synced for each write, LZ4, 16 KiB blocks, block cache 64 MiB, 2 WALs recycled"
    }

    package static func open(
        _ folder: String,
        for work: Work,
        durability: Durability
    ) async throws -> RocksDBContender {
        try RocksDBContender(folder, durability)
    }

    private init(_ folder: String, _ durability: Durability) throws {
        database = try RocksDatabase(
            folder + "/records.rocks",
            families: ["names", "sync"],
            durability: durability
        )
        let key = Array("last sequence".utf8)
        let last = try database.value(0, key) { Self.word($0, at: 0) }
        lastSequence = Mutex(last ?? 0)
    }

    package func prepare(_ batch: Batch, _ pages: PageSource) -> FlatBatch {
        FlatBatch(batch, pages)
    }

    /// One thread for each writer: RocksDB gathers the writes that wait into one sync.
    package func save(writers: [[FlatBatch]]) async throws {
        let failure = Mutex<(any Error)?>(nil)
        let writing = DispatchGroup()
        for commits in writers {
            writing.enter()
            Thread.detachNewThread {
                defer { writing.leave() }
                do {
                    for commit in commits { try self.save(commit) }
                } catch {
                    failure.withLock { $0 = error }
                }
            }
        }
        await withCheckedContinuation { continuation in
            writing.notify(queue: .global()) { continuation.resume() }
        }
        if let error = failure.withLock({ $0 }) { throw error }
    }

    package func save(_ batch: FlatBatch) throws {
        let count = UInt64(batch.entries.count)
        let first = lastSequence.withLock { last in
            defer { last += count }
            return last + 1
        }
        let writes = RocksBatch()
        for (position, entry) in batch.entries.enumerated() {
            try add(
                zone: entry.zone,
                name: batch.bytes[entry.name],
                value: batch.bytes[entry.value],
                sequence: first + UInt64(position),
                isInsert: batch.isInsert,
                to: writes
            )
        }
        try write(writes, last: first + count - 1)
    }

    private func add(
        zone: UInt32,
        name: ArraySlice<UInt8>,
        value: ArraySlice<UInt8>,
        sequence: UInt64,
        isInsert: Bool,
        to writes: RocksBatch
    ) throws {
        let nameKey = Self.bigEndian(zone) + name
        if !isInsert {
            guard let old = try database.value(Self.names, nameKey, { Self.word($0, at: 0) })
            else { throw RocksError(description: "an update of a record that is not there") }
            writes.delete(database.families[Self.sync], Self.syncKey(zone, old))
        }
        writes.put(database.families[Self.names], nameKey, Self.bigEndian(sequence))
        let named = Self.bigEndian(UInt16(name.count)) + name + value
        writes.put(database.families[Self.sync], Self.syncKey(zone, sequence), named)
    }

    /// Every commit also says where the log ends, so that an opening need not look for it.
    private func write(_ writes: RocksBatch, last: UInt64) throws {
        writes.put(database.families[0], Array("last sequence".utf8), Self.bigEndian(last))
        try RocksDatabase.checked {
            rocksdb_write(database.handle, database.write, writes.handle, &$0)
        }
    }

    package func fill(_ history: History, _ pages: PageSource) async throws {
        var page = Page()
        var writes = RocksBatch()
        var pending = 0
        try history.forEachLive { change, sequence in
            pages.fill(&page, for: change)
            var value: [UInt8] = []
            page.appendValue(to: &value)
            try add(
                zone: change.zone,
                name: Array(change.name.utf8)[...],
                value: value[...],
                sequence: sequence,
                isInsert: true,
                to: writes
            )
            pending += 1
            if pending == 1000 {
                try write(writes, last: sequence)
                writes = RocksBatch()
                pending = 0
            }
        }
        try write(writes, last: UInt64(history.eventCount))
        lastSequence.withLock { $0 = UInt64(history.eventCount) }
        try await compact()
    }

    package func compact() async throws {
        try database.compact()
    }

    package func position(inZone zone: Int) -> String {
        String(lastSequence.withLock { $0 })
    }

    package func readAll(zone: Int, into sink: Sink) throws {
        try read(zone: UInt32(zone), after: 0, database.readAll, into: sink)
    }

    package func readChanges(zone: Int, since position: String, into sink: Sink) throws {
        try read(zone: UInt32(zone), after: UInt64(position) ?? 0, database.read, into: sink)
    }

    private func read(
        zone: UInt32,
        after sequence: UInt64,
        _ options: OpaquePointer,
        into sink: Sink
    ) throws {
        let walk = rocksdb_create_iterator_cf(
            database.handle,
            options,
            database.families[Self.sync]
        )
        defer { rocksdb_iter_destroy(walk) }
        Self.syncKey(zone, sequence + 1).withUnsafeBytes {
            rocksdb_iter_seek(
                walk,
                $0.baseAddress?.assumingMemoryBound(to: CChar.self),
                $0.count
            )
        }
        while rocksdb_iter_valid(walk) != 0 {
            var count = 0
            let key = UnsafeRawBufferPointer(start: rocksdb_iter_key(walk, &count), count: 12)
            guard key.loadUnaligned(as: UInt32.self) == zone.bigEndian else { break }
            let bytes = rocksdb_iter_value(walk, &count)
            let value = UnsafeRawBufferPointer(start: bytes, count: count)
            let nameEnd = 2 + Int(UInt16(bigEndian: value.loadUnaligned(as: UInt16.self)))
            sink.take(
                name: UnsafeRawBufferPointer(rebasing: value[2..<nameEnd]),
                sequence: Self.word(key, at: 4),
                value: UnsafeRawBufferPointer(rebasing: value[nameEnd...])
            )
            rocksdb_iter_next(walk)
        }
        try RocksDatabase.checked { rocksdb_iter_get_error(walk, &$0) }
    }

    package func page(of change: Change) throws -> Page? {
        let nameKey = Self.bigEndian(change.zone) + Array(change.name.utf8)
        guard let sequence = try database.value(Self.names, nameKey, { Self.word($0, at: 0) })
        else { return nil }
        return try database.value(Self.sync, Self.syncKey(change.zone, sequence)) { value in
            let nameEnd = 2 + Int(UInt16(bigEndian: value.loadUnaligned(as: UInt16.self)))
            return Page(value: Array(value[nameEnd...]))
        } ?? nil
    }

    package static func replay(_ folder: String) -> Double? { nil }

    package func close() { database.close() }

    private static func syncKey(_ zone: UInt32, _ sequence: UInt64) -> [UInt8] {
        bigEndian(zone) + bigEndian(sequence)
    }

    static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

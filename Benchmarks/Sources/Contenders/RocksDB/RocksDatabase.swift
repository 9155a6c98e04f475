// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CRocksDB

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A call of RocksDB that did not succeed.
package struct RocksError: Error, CustomStringConvertible {
    /// What RocksDB said.
    package let description: String
}

/// One open database with the column families it was opened with.
final class RocksDatabase {
    let handle: OpaquePointer
    private var isOpen = true
    let families: [OpaquePointer]
    let write: OpaquePointer
    let read: OpaquePointer
    /// For reading a whole zone.
    let readAll: OpaquePointer
    private let cache: OpaquePointer
    private let options: OpaquePointer?

    /// `default` is always there and is not among the families.
    init(_ path: String, families names: [String], durability: Durability) throws {
        let options = rocksdb_options_create()
        self.options = options
        rocksdb_options_set_create_if_missing(options, 1)
        rocksdb_options_set_create_missing_column_families(options, 1)
        rocksdb_options_set_compression(options, Int32(rocksdb_lz4_compression))
        rocksdb_options_increase_parallelism(options, 2)
        rocksdb_options_set_recycle_log_file_num(options, 2)
        cache = rocksdb_cache_create_lru(64 << 20)
        let table = rocksdb_block_based_options_create()
        rocksdb_block_based_options_set_block_cache(table, cache)
        rocksdb_block_based_options_set_block_size(table, 16 << 10)
        rocksdb_options_set_block_based_table_factory(options, table)
        rocksdb_block_based_options_destroy(table)

        let all = ["default"] + names
        var handles = [OpaquePointer?](repeating: nil, count: all.count)
        let copies = all.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let opened = try Self.checked { error in
            rocksdb_open_column_families(
                options,
                path,
                Int32(all.count),
                copies.map { UnsafePointer($0) },
                [OpaquePointer?](repeating: options, count: all.count),
                &handles,
                &error
            )
        }
        guard let opened else { throw RocksError(description: "open \(path): no database") }
        handle = opened
        families = handles.compactMap { $0 }
        write = rocksdb_writeoptions_create()
        rocksdb_writeoptions_set_sync(write, durability == .full ? 1 : 0)
        rocksdb_writeoptions_disable_WAL(write, durability == .full ? 0 : 1)
        read = rocksdb_readoptions_create()
        readAll = rocksdb_readoptions_create()
        rocksdb_readoptions_set_readahead_size(readAll, 1 << 20)
    }

    deinit { close() }

    func close() {
        guard isOpen else { return }
        isOpen = false
        for family in families { rocksdb_column_family_handle_destroy(family) }
        rocksdb_close(handle)
        rocksdb_writeoptions_destroy(write)
        rocksdb_readoptions_destroy(read)
        rocksdb_readoptions_destroy(readAll)
        rocksdb_cache_destroy(cache)
        rocksdb_options_destroy(options)
    }

    static func checked<Result>(
        _ body: (inout UnsafeMutablePointer<CChar>?) -> Result
    ) throws -> Result {
        var error: UnsafeMutablePointer<CChar>?
        let result = body(&error)
        if let error {
            defer { rocksdb_free(error) }
            throw RocksError(description: String(cString: error))
        }
        return result
    }

    /// Moves what is in memory into files.
    func flush() throws {
        let options = rocksdb_flushoptions_create()
        defer { rocksdb_flushoptions_destroy(options) }
        for family in families {
            try Self.checked { rocksdb_flush_cf(handle, options, family, &$0) }
        }
    }

    /// Merges all files of each column family into one run.
    func compact() throws {
        try flush()
        for family in families { rocksdb_compact_range_cf(handle, family, nil, 0, nil, 0) }
    }

    /// Bytes of the table files that are in use: what counts once everything is flushed.
    func tableByteCount() throws -> Int {
        try families.reduce(0) { sum, family in
            guard
                let text = rocksdb_property_value_cf(
                    handle,
                    family,
                    "rocksdb.live-sst-files-size"
                )
            else { throw RocksError(description: "no size of the table files") }
            defer { rocksdb_free(text) }
            return sum + (Int(String(cString: text)) ?? 0)
        }
    }

    /// The value under a key, handed to the closure; `nil` if there is none.
    func value<Result>(
        _ family: Int,
        _ key: [UInt8],
        _ body: (UnsafeRawBufferPointer) -> Result
    ) throws -> Result? {
        let pinned = try key.withUnsafeBytes { key in
            try Self.checked {
                rocksdb_get_pinned_cf(
                    handle,
                    read,
                    families[family],
                    key.baseAddress?.assumingMemoryBound(to: CChar.self),
                    key.count,
                    &$0
                )
            }
        }
        guard let pinned else { return nil }
        defer { rocksdb_pinnableslice_destroy(pinned) }
        var count = 0
        let start = rocksdb_pinnableslice_value(pinned, &count)
        return body(UnsafeRawBufferPointer(start: start, count: count))
    }
}

/// The writes of one commit.
final class RocksBatch {
    let handle = rocksdb_writebatch_create()

    deinit { rocksdb_writebatch_destroy(handle) }

    func put(_ family: OpaquePointer, _ key: [UInt8], _ value: [UInt8]) {
        key.withUnsafeBytes { key in
            value.withUnsafeBytes { value in
                rocksdb_writebatch_put_cf(
                    handle,
                    family,
                    key.baseAddress?.assumingMemoryBound(to: CChar.self),
                    key.count,
                    value.baseAddress?.assumingMemoryBound(to: CChar.self),
                    value.count
                )
            }
        }
    }

    func delete(_ family: OpaquePointer, _ key: [UInt8]) {
        key.withUnsafeBytes { key in
            rocksdb_writebatch_delete_cf(
                handle,
                family,
                key.baseAddress?.assumingMemoryBound(to: CChar.self),
                key.count
            )
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Who may read what a store makes.
@Suite struct FilePermissionTests {
    /// Modes of everything at a path and below it, by file name.
    private func modes(_ path: String) throws -> (folders: Set<Int>, files: [String: Int]) {
        var folders: Set<Int> = []
        var files: [String: Int] = [:]
        let names = try FileManager.default.subpathsOfDirectory(atPath: path)
        for name in [""] + names {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
            let mode = try #require(attributes[.posixPermissions] as? Int)
            if attributes[.type] as? FileAttributeType == .typeDirectory {
                folders.insert(mode)
            } else {
                files[name] = mode
            }
        }
        return (folders, files)
    }

    /// Does what makes files of every kind: segments, manifests, views, assets, a journal, a query index.
    private func use(_ store: Store, _ number: Int64) async throws {
        let client = Client(store: store)
        try await client.createZone()
        let asset = try await client.upload([UInt8(number)])
        try await client.modify([
            try client.save("r\(number)", ["n": .int64(number), "a": .asset(asset)])
        ])
        let refused = try await client.modify([try client.save("r\(number)", ["n": .int64(0)])])
        #expect(throws: SyncError.self) { try refused.saves[0].get() }
        _ = try await store.query(
            QueryRequest(Query(recordType: "Note"), in: client.zone),
            as: client.caller
        )
        _ = try await store.compact(CompactionPolicy())
    }

    @Test func `Only the owner can read a store and its copies`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        try await use(store, 1)
        _ = try Store.backUp(at: folder.path(), to: folder.path("backup"))
        _ = try Store.fork(from: folder.path(), to: folder.path("fork"))
        _ = try Store.restore(from: folder.path("backup"), to: folder.path("restored"))
        _ = try Store.salvage(from: folder.path(), to: folder.path("salvaged"))
        try store.close()
        for name in ["test.tide", "backup", "fork", "restored", "salvaged"] {
            let modes = try modes(folder.path(name))
            #expect(modes.folders == [0o700], "\(name)")
            #expect(modes.files.filter { $0.value != 0o600 } == [:], "\(name)")
        }
        let names = try modes(folder.path()).files.keys
        for kind in ["segments/", "views/", "assets/", "journal/", "queries/"] {
            #expect(names.contains { $0.hasPrefix(kind) }, "\(kind)")
        }
    }

    @Test(arguments: [
        (FilePermissions.group, 0o750, 0o640), (FilePermissions.everyone, 0o755, 0o644),
    ])
    func `New files have the permissions that the store was created with`(
        permissions: FilePermissions,
        folderMode: Int,
        fileMode: Int
    ) async throws {
        let folder = try ScratchFolder()
        var options = StoreOptions()
        options.permissions = permissions
        try Store.open(at: folder.path(), access: .creating, options: options).close()
        for number in 1...2 as ClosedRange<Int64> {
            let store = try Store.open(at: folder.path())
            try await use(store, number)
            try store.close()
        }
        _ = try Store.backUp(at: folder.path(), to: folder.path("backup"))
        _ = try Store.fork(from: folder.path(), to: folder.path("fork"))
        _ = try Store.restore(from: folder.path("backup"), to: folder.path("restored"))
        _ = try Store.salvage(from: folder.path(), to: folder.path("salvaged"))
        for name in ["test.tide", "backup", "fork", "restored", "salvaged"] {
            let modes = try modes(folder.path(name))
            #expect(modes.folders == [folderMode], "\(name)")
            #expect(modes.files.filter { $0.value != fileMode } == [:], "\(name)")
        }
    }

    /// Sets or returns the owners of everything at a path and below it.
    private func owners(_ path: String, setting owner: Int? = nil) throws -> Set<[Int]> {
        let files = FileManager.default
        return Set(
            try ([""] + files.subpathsOfDirectory(atPath: path)).map { name in
                let path = "\(path)/\(name)"
                if let owner {
                    try files.setAttributes(
                        [.ownerAccountID: owner, .groupOwnerAccountID: owner],
                        ofItemAtPath: path
                    )
                }
                let attributes = try files.attributesOfItem(atPath: path)
                return [
                    try #require(attributes[.ownerAccountID] as? Int),
                    try #require(attributes[.groupOwnerAccountID] as? Int),
                ]
            }
        )
    }

    @Test func `A path with a NUL is rejected before anything is created`() throws {
        let folder = try ScratchFolder()
        // Not by `path(_:)`: a URL ends at the NUL too.
        #expect(throws: LogError.self) {
            try Store.open(at: folder.path("") + "/a\0b", access: .creating)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")).isEmpty)
    }

    @Test(.enabled("Only root can give files away.") { geteuid() == 0 })
    func `What root creates in the store of another user belongs to that user`() async throws {
        let folder = try ScratchFolder()
        try Store.open(at: folder.path(), access: .creating).close()
        try FileManager.default.removeItem(atPath: folder.path("test.tide") + "/views")
        #expect(try owners(folder.path(), setting: 12_345) == [[12_345, 12_345]])
        let store = try Store.open(at: folder.path())
        try await use(store, 1)
        try store.close()
        _ = try Store.backUp(at: folder.path(), to: folder.path("backup"))
        for name in ["test.tide", "backup"] {
            #expect(try owners(folder.path(name)) == [[12_345, 12_345]], "\(name)")
        }
    }

    @Test
    func `A store in an existing folder keeps the folder's mode, and its files are private`()
        async throws
    {
        let folder = try ScratchFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path(),
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755]
        )
        for number in 1...2 as ClosedRange<Int64> {
            let store = try Store.open(at: folder.path(), access: .creating)
            try await use(store, number)
            try store.close()
        }
        let modes = try modes(folder.path())
        #expect(modes.folders == [0o755, 0o700])
        #expect(modes.files.filter { $0.value != 0o600 } == [:])
    }
}

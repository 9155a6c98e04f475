// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// A store whose `CURRENT` is gone is what is left of a store: nothing is written over it.
@Suite struct LostCurrentTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// A store with a backup, and a commit that the backup does not have.
    private func make() async throws {
        let client = Client(store: try Store.open(at: folder.path(), access: .creating))
        try await client.createZone()
        try await client.modify([try client.save("old", ["n": 1])])
        _ = try Store.backUp(at: folder.path(), to: folder.path("backup.tide"))
        try await client.modify([try client.save("new", ["n": 2])])
        try client.store.close()
    }

    /// Everything in the folder but its lock and its views, which are a cache.
    private func files() throws -> [String: Data] {
        let store = URL(filePath: folder.path())
        var files: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: store.path)
        where name != "LOCK" && !name.hasPrefix("views") {
            let url = store.appending(path: name)
            let isFolder = try url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory ?? false
            if !isFolder, name != "CURRENT" { files[name] = try Data(contentsOf: url) }
        }
        return files
    }

    /// What may be tried on such a folder.
    private enum Attempt: CaseIterable {
        case writing, creating, reading, backup, restore, fork, salvage

        func run(at path: String, from backup: String) throws(LogError) {
            switch self {
            case .writing: try Store.open(at: path).close()
            case .creating: try Store.open(at: path, access: .creating).close()
            case .reading: try Store.open(at: path, access: .reading).close()
            case .backup: _ = try Store.backUp(at: backup, to: path)
            case .restore: _ = try Store.restore(from: backup, to: path)
            case .fork: _ = try Store.fork(from: backup, to: path)
            case .salvage: _ = try Store.salvage(from: backup, to: path)
            }
        }
    }

    @Test(arguments: [false, true]) func `Without CURRENT, a store is unchanged and salvageable`(
        isLink: Bool
    ) async throws {
        try await make()
        let current = folder.path() + "/CURRENT"
        try FileManager.default.removeItem(atPath: current)
        if isLink {
            try FileManager.default.createSymbolicLink(
                atPath: current,
                withDestinationPath: folder.path("nowhere")
            )
        }
        let before = try files()
        for attempt in Attempt.allCases {
            let error = #expect(throws: LogError.self, "\(attempt)") {
                try attempt.run(at: folder.path(), from: folder.path("backup.tide"))
            }
            #expect(error?.code == .corrupted, "\(attempt): \(String(describing: error))")
            #expect(error?.message.contains("salvage") == true, "\(attempt)")
            #expect(try files() == before, "\(attempt)")
        }
        if isLink { try FileManager.default.removeItem(atPath: current) }
        _ = try Store.salvage(from: folder.path(), to: folder.path("copy.tide"))
        let copy = Client(store: try Store.open(at: folder.path("copy.tide")))
        #expect(try await copy.fetch("new")[0].get()["n"] == .int64(2))
        try copy.store.close()
    }

    @Test func `A copy that was interrupted before its CURRENT is made again`() async throws {
        try await make()
        for name in ["backup.tide", "fork.tide"] {
            let path = folder.path(name)
            if name == "fork.tide" { _ = try Store.backUp(at: folder.path(), to: path) }
            try FileManager.default.removeItem(atPath: path + "/CURRENT")
            // Without this it is a backup that has lost its file, and may have more than the store.
            let refusal = #expect(throws: LogError.self) {
                try Store.backUp(at: folder.path(), to: path)
            }
            #expect(refusal?.code == .corrupted)
            try Data().write(to: URL(filePath: path + "/COPYING"))
            let error = #expect(throws: LogError.self) {
                try Store.open(at: path, access: .reading)
            }
            #expect(error?.message.contains("Run it again") == true)
        }
        _ = try Store.backUp(at: folder.path(), to: folder.path("backup.tide"))
        _ = try Store.fork(from: folder.path(), to: folder.path("fork.tide"))
        for name in ["backup.tide", "fork.tide"] {
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path(name))
            #expect(!files.contains("COPYING"))
            let copy = Client(store: try Store.open(at: folder.path(name), access: .reading))
            #expect(try await copy.fetch("new")[0].get()["n"] == .int64(2))
            try copy.store.close()
        }
    }

    @Test func `A fork into a folder with other files does not change them`() async throws {
        try await make()
        let target = URL(filePath: folder.path("other"))
        let views = target.appending(path: "views")
        try FileManager.default.createDirectory(at: views, withIntermediateDirectories: true)
        for url in [views.appending(path: "data.mdb"), target.appending(path: "notes.txt")] {
            try Data("precious".utf8).write(to: url)
        }
        #expect(throws: LogError.self) {
            try Store.fork(from: folder.path(), to: target.path)
        }
        #expect(
            try FileManager.default.subpathsOfDirectory(atPath: target.path).sorted()
                == ["notes.txt", "views", "views/data.mdb"]
        )
        let left = try Data(contentsOf: views.appending(path: "data.mdb"))
        #expect(left == Data("precious".utf8))
    }

    @Test func `No store is created inside another store`() async throws {
        try await make()
        for name in ["inner", "views/inner", "segments"] {
            let error = #expect(throws: LogError.self) {
                try Store.open(at: folder.path() + "/" + name, access: .creating)
            }
            #expect(error?.code == .foreignFile, "\(name)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path() + "/inner"))
    }

    @Test(arguments: ["CURRENT", "LOCK", "manifest-000001"])
    func `A named pipe in place of a file does not block opening`(_ name: String) async throws {
        try await make()
        let path = folder.path() + "/" + name
        try FileManager.default.removeItem(atPath: path)
        #expect(mkfifo(path, 0o644) == 0)
        for access in [StoreAccess.writing, .reading] {
            let error = #expect(throws: LogError.self) {
                try Store.open(at: folder.path(), access: access)
            }
            #expect(error?.message.contains("The path is a pipe, a socket or a device") == true)
        }
    }
}

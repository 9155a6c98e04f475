// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// A log whose files were replaced by older copies: the views tell how far it went.
@Suite struct OlderStoreTests {
    let folder: ScratchFolder
    private let files = FileManager.default

    init() throws {
        folder = try ScratchFolder()
    }

    /// Which files of the log come back as they were before the last two saves.
    enum Files: CaseIterable {
        case activeSegment, all

        /// What becomes of the store.
        func bringBack(from older: String, to store: String) throws {
            let files = FileManager.default
            if self == .activeSegment {
                let name = try #require(
                    try files.contentsOfDirectory(atPath: older + "/segments").sorted().last {
                        $0.hasSuffix(".seg")
                    }
                )
                try files.removeItem(atPath: "\(store)/segments/\(name)")
                return try files.copyItem(
                    atPath: "\(older)/segments/\(name)",
                    toPath: "\(store)/segments/\(name)"
                )
            }
            for name in try files.contentsOfDirectory(atPath: store) where name != "views" {
                try files.removeItem(atPath: "\(store)/\(name)")
            }
            for name in try files.contentsOfDirectory(atPath: older) where name != "views" {
                try files.copyItem(atPath: "\(older)/\(name)", toPath: "\(store)/\(name)")
            }
        }
    }

    @Test(arguments: Files.allCases)
    func `what an older copy of the log lacks is named`(_ older: Files) async throws {
        let store = folder.path()
        let client = Client(store: try Store.open(at: store, access: .creating))
        try await client.createZone()
        try await client.modify([try client.save("old", ["n": 1])])
        try client.store.close()
        try files.copyItem(atPath: store, toPath: folder.path("older.tide"))
        let before = try LogReader(store, fileSystem: PosixFileSystem()).durableSequence
        let again = Client(store: try Store.open(at: store))
        try await again.modify([try again.save("new", ["n": 2])])
        try await again.modify([try again.save("newer", ["n": 3])])
        try again.store.close()
        let last = try LogReader(store, fileSystem: PosixFileSystem()).durableSequence
        try older.bringBack(from: folder.path("older.tide"), to: store)

        let error = #expect(throws: LogError.self) { try Store.open(at: store).close() }
        #expect(error?.code == .corrupted)
        let reading = try Store.open(at: store, access: .reading)
        #expect(try reading.reader?.damage.isEmpty == false)
        try reading.close()
        let salvaged = try Store.salvage(from: store, to: folder.path("copy.tide"))
        #expect(salvaged.log.lost == [before.next...last])
        let copy = Client(store: try Store.open(at: folder.path("copy.tide")))
        #expect(try await copy.fetch("old").first?.get().fields["n"] == 1)
        #expect(try await copy.fetch("new").first?.error?.code == .unknownItem)
        try copy.store.close()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// A whole store as the first version wrote it, and what a build makes of it and of files that it does
/// not know (`Docs/formats/compatibility.md`).
///
/// `NewerEventTests` and `DamagedFileTests` have the unknown kinds of events, and the newer segments and
/// manifests.
@Suite(.serialized) struct WholeStoreTests {
    private let folder: ScratchFolder
    private var path: String { folder.path() }

    init() async throws {
        folder = try ScratchFolder()
        try await WholeStore.rewriteIfAsked()
        try WholeStore.copy(to: folder.path())
    }

    @Test func `A store of version 1 gives the kept answers`() async throws {
        let kept = try WholeStore.keptAnswers()
        #expect(try await WholeStore.answers(at: path) == kept)
        // Not a comparison of nothing with nothing.
        for beginning in [
            "journal: ", "bob: ", "carol: ", "everybody: ", "zelda: ",
            "zelda in an erased zone: zoneNotFound", "since bob/3 compacted: ", "history of b0: ",
            "blame of child: ", "as of ", "usage: ", "_bob subscribes to bob-watch", "share: ",
            "asset: bob bytes", "found: b",
        ] {
            #expect(kept.contains { $0.hasPrefix(beginning) }, "\(beginning)")
        }
        #expect(!kept.contains { $0.hasPrefix("finding: ") })
        #expect(kept.last?.hasSuffix("views compared") == true)
    }

    @Test func `Without its views, a store of version 1 gives the same answers`() async throws {
        try FileManager.default.removeItem(atPath: path + "/views")
        #expect(try await WholeStore.answers(at: path) == WholeStore.keptAnswers())
    }

    @Test func `The same calls still make the same log`() async throws {
        let made = folder.path("made.tide")
        _ = try await WholeStore.make(at: made)
        #expect(try WholeStore.log(of: made) == WholeStore.log(of: path))
    }

    @Test func `The kept store has several segments, some of them compacted`() throws {
        let segments = try WholeStore.segments(of: path)
        #expect(segments.count > 2 && segments.contains { !$0.contains("-0.seg") })
        #expect(segments.last?.hasSuffix("through -") == true)
    }

    @Test func `Unknown files are left as they are`() async throws {
        let names = ["future-000001", "segments/future-000001", "journal/future-000001"]
        for name in names { try Data("later".utf8).write(to: URL(filePath: "\(path)/\(name)")) }
        #expect(try await WholeStore.answers(at: path) == WholeStore.keptAnswers())
        for name in names {
            #expect(try Data(contentsOf: URL(filePath: "\(path)/\(name)")) == Data("later".utf8))
        }
    }

    @Test func `A journal of a newer version is skipped and reported`() async throws {
        var newer: [(url: URL, bytes: [UInt8])] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: path + "/journal") {
            let url = URL(filePath: "\(path)/journal/\(name)")
            var bytes = [UInt8](try Data(contentsOf: url))
            bytes.store(integer: UInt16(9), at: 8)
            bytes.store(integer: UInt16(9), at: 10)
            let checked = Array(bytes[0..<248])
            bytes.store(integer: xxh3(checked.span.bytes, seed: 0), at: 248)
            try Data(bytes).write(to: url)
            newer.append((url, bytes))
        }
        #expect(!newer.isEmpty)
        let kept = try WholeStore.keptAnswers().filter { !$0.hasPrefix("journal: ") }
        let found = try await WholeStore.answers(at: path)
        let reports = found.filter { $0.hasPrefix("finding: ") }
        #expect(reports.count == newer.count && reports.allSatisfy { $0.contains("journal") })
        let damage = try Store.verify(at: path).journal.damage
        #expect(damage.count == newer.count)
        #expect(damage.allSatisfy { $0.code == .newerVersion })
        for error in damage {
            #expect(error.message.contains("format version 9"))
            #expect(error.message.contains("this one reads up to 1"))
        }
        #expect(found.filter { !$0.hasPrefix("finding: ") } == kept)
        for (url, bytes) in newer { #expect(try [UInt8](Data(contentsOf: url)) == bytes) }
    }

    @Test func `An erasure of a newer version is rejected, and its file is kept`() throws {
        var bytes = ErasureSubject.user(UserID("_bob")).bytes
        bytes.store(integer: UInt32(2), at: 8)
        let end = bytes.count - 8
        let checked = Array(bytes[..<end])
        bytes.store(integer: xxh3(checked.span.bytes, seed: 0), at: end)
        let url = URL(filePath: path + "/ERASING")
        try Data(bytes).write(to: url)
        let error = #expect(throws: LogError.self) { try Store.open(at: path) }
        #expect(error?.code == .newerVersion)
        #expect(error?.message.contains("in version 2") == true)
        #expect(try [UInt8](Data(contentsOf: url)) == bytes)
    }
}

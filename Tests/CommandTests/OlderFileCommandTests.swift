// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The log's files come back as they were earlier, or go away, or lie there twice.
@Suite struct OlderFileCommandTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// A store of 40 commits, and a copy of it from when it had 20.
    private func stores() async throws -> (store: String, older: String) {
        let lines = SampleHistory.lines(40)
        let store = try await folder.store(Array(lines.prefix(20)))
        let older = folder.path("older.tide")
        try FileManager.default.copyItem(atPath: store, toPath: older)
        return (try await folder.store(lines), older)
    }

    private func replace(_ name: String, of store: String, from older: String) throws {
        try? FileManager.default.removeItem(atPath: "\(store)/\(name)")
        try FileManager.default.copyItem(atPath: "\(older)/\(name)", toPath: "\(store)/\(name)")
    }

    @Test(arguments: [true, false])
    func `salvage reports a lost end and exits with status 1`(isDeleted: Bool) async throws {
        let (store, older) = try await stores()
        let whole = try await Command.run("log", "dump", store).lines.count
        if isDeleted {
            try FileManager.default.removeItem(atPath: "\(store)/\(DamageTests.segment)")
        } else {
            try replace(DamageTests.segment, of: store, from: older)
        }
        let outcome = try await Command.run("log", "salvage", store, folder.path("copy.tide"))
        #expect(outcome.status == 1)
        let report = try #require(try outcome.objects().first)
        let lost = try #require(report["lost"] as? [[String: Int]])
        #expect(lost.count == 1)
        #expect(lost.first?["last"] == whole)
        #expect(lost.first?["first"] == (try #require(report["events"] as? Int)) + 1)
    }

    @Test(arguments: [true, false])
    func `Readers and verify fail if files do not belong together`(
        isStray: Bool
    ) async throws {
        let (store, older) = try await stores()
        if isStray {
            try FileManager.default.copyItem(
                atPath: "\(store)/\(DamageTests.segment)",
                toPath: "\(store)/\(DamageTests.segment.replacing("-0.seg", with: "-1.seg"))"
            )
        } else {
            for name in try FileManager.default.contentsOfDirectory(atPath: older)
            where name == "CURRENT" || name.hasPrefix("manifest-") {
                try replace(name, of: store, from: older)
            }
            try replace(DamageTests.segment, of: store, from: older)
        }
        let writing = try await Command.run("import", store, "-", input: "{}\n")
        #expect(writing.status == 1)
        for command in [["log", "verify"], ["log", "dump"], ["log", "stat"], ["export"]] {
            let outcome = try await Command.run(command + [store])
            #expect(outcome.status == 1, "\(command)")
        }
    }
}

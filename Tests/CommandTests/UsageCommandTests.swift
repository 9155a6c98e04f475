// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct UsageCommandTests {
    @Test func `Databases and zones are counted`() async throws {
        let folder = try ScratchFolder()
        let store = folder.path("notes.tide")
        #expect(try await Command.run("zones", "create", store, "lists").status == 0)
        for name in ["a", "b"] {
            _ = try await Command.run("save", store, name, "--type", "T", "--zone", "lists", "n=1")
        }
        _ = try await Command.run("save", store, "p", "--type", "T", "--database", "public")
        let usage = try await Command.run("usage", store).objects()
        #expect(usage.compactMap { $0["database"] as? String } == ["private", "public"])
        #expect(usage.compactMap { $0["records"] as? Int } == [2, 1])
        let zones = try await Command.run("usage", store, "--zones").objects()
        #expect(zones.compactMap { $0["zone"] as? String } == ["lists", "_defaultZone"])
        #expect(zones[0]["recordBytes"] as? Int == usage[0]["recordBytes"] as? Int)
        #expect(zones[0]["assetBytes"] as? Int == 0)
        let text = try await Command.run("usage", store, "--text")
        #expect(text.lines.count == 3)
        #expect(text.lines.last?.hasPrefix("iCloud.tidemark/development/public") == true)
    }
}

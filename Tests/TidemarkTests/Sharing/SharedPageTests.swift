// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

@Suite struct SharedPageTests {
    /// Of each tree that is moved below the shared root, one record changes and one enters the share
    /// as it was: its version lies far before the records around it.
    @Test(arguments: [nil, 600, 200, 1])
    func `Pages have the records in the order in which they entered a share`(
        _ byteLimit: Int?
    ) async throws {
        let world = try await SharingWorld()
        let (anna, bob) = (world.anna, world.guest("bob"))
        try await anna.modify([try anna.node("root")])
        let numbers = 0..<6
        // The last ones first, so that the versions are not in the order of the entries.
        for number in numbers.reversed() {
            try await anna.modify([try anna.node("tree\(number)")])
            try await anna.modify([try anna.node("leaf\(number)", under: "tree\(number)")])
        }
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readWrite)])])
        try await bob.accept("s", of: anna)
        for number in numbers {
            try await anna.modify([try anna.node("new\(number)", under: "root")])
            try await anna.modify([try anna.node("tree\(number)", under: "root")])
        }

        var names: [String] = []
        var pageCount = 0
        var request = ZoneChangesRequest(zone: bob.zone, byteLimit: byteLimit)
        while true {
            let page = try await world.store.zoneChanges(request, as: bob.caller)
            for case .changed(let record) in page.changes {
                names.append(record.recordID.recordName)
            }
            pageCount += 1
            request.since = page.token
            if !page.moreComing { break }
        }
        let entered = numbers.flatMap { ["new\($0)", "tree\($0)", "leaf\($0)"] }
        #expect(Array(names.suffix(entered.count)) == entered)
        #expect(Set(names.dropLast(entered.count)) == ["root", "s"])
        #expect(names.count == entered.count + 2)
        if byteLimit != nil { #expect(pageCount > 3) }
        try world.store.close()
    }
}

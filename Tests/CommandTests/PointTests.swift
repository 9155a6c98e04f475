// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkCommand

@Suite struct PointTests {
    @Test func `A number is a sequence number`() throws {
        #expect(try Point("0") == .sequence(0))
        #expect(try Point("1042") == .sequence(1042))
        #expect(try Point("18446744073709551615") == .sequence(.max))
    }

    @Test func `A text that begins with t. is a change token`() throws {
        #expect(try Point("t.AAECAw") == .token("t.AAECAw"))
    }

    @Test func `Other texts are times`() throws {
        #expect(try Point("1970-01-01T00:00:01Z") == .time(1000))
    }

    @Test func `A negative number counts back from the newest event`() throws {
        #expect(try Point("-1") == .back(1))
        #expect(try Point("-10") == .back(10))
    }

    @Test func `A count includes the last events of a store that is being written`() async throws {
        let folder = try ScratchFolder()
        defer { withExtendedLifetime(folder) {} }
        let path = folder.path()
        let store = try Store.open(at: path, access: .creating)
        for number in 0..<5 {
            let zones = ModifyZonesRequest(saves: [ZoneID(zoneName: "zone-\(number)")])
            _ = try await store.modifyZones(zones, as: Caller(user: "anna"))
            let position = try Point.back(1).position(inStoreAt: path)
            #expect(position.next == store.lastSequence)
        }
        try store.close()
    }

    @Test func `A date is its start in UTC`() throws {
        #expect(try Point("1970-01-02") == .time(86_400_000))
        #expect(try Point("2024-02-29") == .time(1_709_164_800_000))
    }

    @Test(arguments: [
        ("1 second ago", 1000), ("90 seconds ago", 90_000), ("1 minute ago", 60_000),
        ("2 minutes ago", 120_000), ("1 hour ago", 3_600_000), ("3 hours ago", 10_800_000),
        ("1 day ago", 86_400_000), ("0 days ago", 0), ("2 weeks ago", 1_209_600_000),
    ])
    func `An age counts back from now`(text: String, age: Int64) throws {
        #expect(try Point(text, now: { 2_000_000_000_000 }) == .time(2_000_000_000_000 - age))
    }

    @Test func `An age before all times is the earliest time`() throws {
        #expect(try Point("9223372036854775807 weeks ago", now: { 0 }) == .time(.min))
    }

    @Test(arguments: [
        "", "-", "-0", "-01", "--json", "- 1", "2026-02-30", "2026-2-3", "1 hour", "1 year ago",
        "-1 hour ago", "one hour ago", "1 hours before", "ago", "+1", "007", "18446744073709551616",
        "1.5", "yesterday", "T.x",
    ])
    func `Other input is rejected with examples`(text: String) {
        #expect {
            try Point(text)
        } throws: { error in
            let message = "\(error)"
            return message.contains("'\(text)'") && message.contains("1042")
                && message.contains("-10") && message.contains("t.…")
                && message.contains("2026-02-03T04:05:06Z") && message.contains("2026-02-03,")
                && message.contains("minutes ago")
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import TidemarkCommand

@Suite struct PointTests {
    @Test func `a number is a sequence number`() throws {
        #expect(try Point("0") == .sequence(0))
        #expect(try Point("1042") == .sequence(1042))
        #expect(try Point("18446744073709551615") == .sequence(.max))
    }

    @Test func `what begins with t. is a change token`() throws {
        #expect(try Point("t.AAECAw") == .token("t.AAECAw"))
    }

    @Test func `anything else is a time`() throws {
        #expect(try Point("1970-01-01T00:00:01Z") == .time(1000))
    }

    @Test(arguments: ["", "-1", "+1", "007", "18446744073709551616", "1.5", "yesterday", "T.x"])
    func `what is none of these is refused with examples`(text: String) {
        #expect {
            try Point(text)
        } throws: { error in
            let message = "\(error)"
            return message.contains("'\(text)'") && message.contains("2026-02-03T04:05:06Z")
        }
    }
}

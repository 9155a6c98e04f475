// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct RFC3339Tests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2014-03-04T12:28:29Z", 1_393_936_109_000),
        ("2014-03-04t12:28:29z", 1_393_936_109_000),
        ("2014-03-04T13:28:29+01:00", 1_393_936_109_000),
        ("2014-03-04T06:58:29-05:30", 1_393_936_109_000),
        ("2014-03-04T12:28:29-00:00", 1_393_936_109_000),
        ("2014-03-04T12:28:29.5Z", 1_393_936_109_500),
        ("2014-03-04T12:28:29.0079999Z", 1_393_936_109_007),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ])
    func `RFC 3339 times are parsed`(text: String, milliseconds: Int64) {
        #expect(RFC3339.milliseconds(text) == milliseconds)
    }

    @Test(arguments: [
        "", "2014", "2014-03-04", "2014-03-04T12:28:29", "2014-03-04 12:28:29Z",
        "2014-03-04T12:28Z", "2014-3-04T12:28:29Z", "2014-13-04T12:28:29Z",
        "2014-00-04T12:28:29Z", "2014-02-29T12:28:29Z", "1900-02-29T12:28:29Z",
        "2014-04-31T12:28:29Z", "2014-03-00T12:28:29Z", "2014-03-04T24:00:00Z",
        "2014-03-04T12:60:29Z", "2014-03-04T12:28:61Z", "2014-03-04T12:28:29.Z",
        "2014-03-04T12:28:29+0100", "2014-03-04T12:28:29+24:00", "2014-03-04T12:28:29Z ",
        " 2014-03-04T12:28:29Z", "２014-03-04T12:28:29Z", "-2014-03-04T12:28:29Z",
    ])
    func `Times that are not RFC 3339 are rejected`(text: String) {
        #expect(RFC3339.milliseconds(text) == nil)
    }

    @Test func `Times round-trip`() {
        #expect(RFC3339.text(milliseconds: 1_393_936_109_000) == "2014-03-04T12:28:29Z")
        #expect(RFC3339.text(milliseconds: -1) == "1969-12-31T23:59:59.999Z")
        // A field may hold a time that RFC 3339 cannot write.
        #expect(RFC3339.text(milliseconds: -62_167_219_200_001) == "-0001-12-31T23:59:59.999Z")
        // One time in each month of a century, and before the era began.
        for time in stride(
            from: Int64(-2_000_000_000_123),
            to: 4_000_000_000_000,
            by: 2_629_746_001
        ) {
            #expect(RFC3339.milliseconds(RFC3339.text(milliseconds: time)) == time)
        }
    }
}

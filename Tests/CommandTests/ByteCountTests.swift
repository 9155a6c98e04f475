// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkCommand

@Suite struct ByteCountTests {
    @Test(arguments: [("12", 12), ("4K", 4096), ("4k", 4096), ("1M", 1 << 20), ("2g", 2 << 30)])
    func `A number has a unit or none`(text: String, count: Int) {
        #expect(ByteCount.number(text) == count)
    }

    // In upper case, ß and ﬀ are two characters.
    @Test(arguments: ["", "K", "1.5G", "1KB", "9999999999T", "ß", "1ß", "1ﬀ"])
    func `Other texts are no number`(text: String) {
        #expect(ByteCount.number(text) == nil)
    }
}

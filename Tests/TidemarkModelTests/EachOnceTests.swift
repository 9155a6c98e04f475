// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct EachOnceTests {
    /// Few elements are compared with each other, and many are hashed.
    @Test(arguments: [0, 1, 4, 5, 20])
    func `Later duplicates are left out`(count: Int) {
        let elements = Array((0..<count).reversed())
        #expect((elements + elements.reversed()).eachOnce == elements)
    }
}

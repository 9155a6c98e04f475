// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkCloudKit

@Suite struct CollectedTests {
    private final class Box: Sendable {}

    @Test func `Adding a result does not copy those that were collected`() {
        let collected = Collected(Box())
        var isUnique = false
        collected.add { isUnique = isKnownUniquelyReferenced(&$0) }
        #expect(isUnique)
    }
}

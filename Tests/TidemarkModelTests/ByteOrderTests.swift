// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct ByteOrderTests {
    private func order(_ first: [UInt8], _ second: [UInt8]) -> Int {
        first.withUnsafeBytes { left in
            second.withUnsafeBytes { right in ByteOrder.compare(left, right) }
        }
    }

    @Test(arguments: 0..<20) func `The first byte that differs decides`(_ count: Int) {
        let bytes = [UInt8](repeating: 7, count: count)
        #expect(order(bytes, bytes) == 0)
        #expect(ByteEquality.areEqual(bytes[...], Array(bytes)[...]))
        #expect(order(bytes, bytes + [0]) < 0)
        #expect(order(bytes + [0], bytes) > 0)
        #expect(!ByteEquality.areEqual(bytes[...], (bytes + [0])[...]))
        for place in 0..<count {
            var smaller = bytes
            var greater = bytes
            greater[place] = 200
            #expect(!ByteEquality.areEqual(smaller[...], greater[...]))
            // Later bytes have the opposite order.
            for later in place + 1..<count { smaller[later] = 255 }
            #expect(order(smaller, greater) < 0)
            #expect(order(greater, smaller) > 0)
            #expect(!ByteEquality.areEqual(smaller[...], greater[...]))
        }
    }
}

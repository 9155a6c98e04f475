// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import TidemarkQuery

@Suite struct StoredBodyTests {
    private func read(_ stored: [UInt8]) throws -> (sequence: UInt64, bytes: [UInt8]) {
        var bytes: [UInt8] = [9]
        let sequence = try stored.withUnsafeBytes { try StoredBody.append($0, to: &bytes) }
        return (sequence, bytes)
    }

    /// The lengths leave every number of words behind the last four, and of bytes behind the last word.
    @Test(arguments: 1...32)
    func `A stored body is read as it was, and every changed bit is found`(length: Int) throws {
        let name = String(repeating: "n", count: length)
        let body = RecordBody(named: name, try Fields(["title": "Hello"]))
        var stored: [UInt8] = [1, 2, 3]
        let sequence: UInt64 = 1 << 63 | 7
        StoredBody.encode(body, at: sequence, into: &stored)
        let found = try read(stored)
        #expect(found.sequence == sequence)
        #expect(found.bytes == [9] + Array(body.bytes))
        var missed: [Int] = []
        for bit in 0..<stored.count * 8 {
            var changed = stored
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            if (try? read(changed)) != nil { missed.append(bit) }
        }
        #expect(missed == [])
        for count in 0..<stored.count {
            #expect(throws: QueryIndexError.self) { try read(Array(stored.prefix(count))) }
        }
    }
}

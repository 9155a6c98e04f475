// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@Suite struct JSONWritingTests {
    @Test func `A comma separates members and elements, and a missing value has no member`() {
        var json: [UInt8] = []
        json.append(literal: "{")
        json.append(member: "text", jsonString: "{")
        json.append(member: "count", jsonNumber: UInt64(2))
        json.append(member: "nothing", jsonString: nil)
        json.append(member: "inner")
        json.append(literal: "{")
        json.append(member: "ratio", jsonNumber: 0.5)
        json.append(literal: "}")
        json.append(member: "list")
        json.append(jsonList: ["a", "b"]) { $0.append(jsonString: $1) }
        json.append(literal: "}")
        let text = String(decoding: json, as: UTF8.self)
        #expect(text == #"{"text":"{","count":2,"inner":{"ratio":0.5},"list":["a","b"]}"#)
    }

    @Test func `Every whole number is written with its digits`() {
        var numbers: [Int64] = [.min, .min + 1, -10, -9, -1, 0, 1, 9, 10, .max - 1, .max]
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            numbers += [power - 1, power, -power]
        }
        for number in numbers {
            var json: [UInt8] = []
            json.append(jsonNumber: number)
            #expect(String(decoding: json, as: UTF8.self) == String(number))
        }
    }
}

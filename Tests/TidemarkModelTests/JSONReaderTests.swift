// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkModel

/// A JSON text as a tree, for comparing two readers.
indirect enum JSONTree {
    case object([String: JSONTree])
    case array([JSONTree])
    case string([UInt8])
    case number(Double)
    case boolean(Bool)
    case null

    /// Reads a tree with the reader under test; `nil` if it refuses the text.
    static func read(_ text: [UInt8]) -> JSONTree? {
        text.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            guard let tree = try? read(&reader), (try? reader.finish()) != nil else { return nil }
            return tree
        }
    }

    private static func read(_ reader: inout JSONReader) throws(JSONError) -> JSONTree {
        switch try reader.peek() {
        case .object:
            var members: [String: JSONTree] = [:]
            var object = try reader.openObject()
            while let key = try reader.nextKey(of: &object) {
                members[reader.copy(key)] = try read(&reader)
            }
            return .object(members)
        case .array:
            var elements: [JSONTree] = []
            var array = try reader.openArray()
            while try reader.nextElement(of: &array) { elements.append(try read(&reader)) }
            return .array(elements)
        case .string:
            var text: [UInt8] = []
            try reader.appendText(to: &text)
            return .string(text)
        case .number:
            let number = try reader.number()
            guard let value = reader.double(number) else {
                throw JSONError("infinite", at: reader.offset)
            }
            if let whole = number.int64 { #expect(Double(whole) == value) }
            return .number(value)
        case .boolean: return .boolean(try reader.boolean())
        case .null:
            try reader.null()
            return .null
        }
    }

    /// Whether two trees are the same.
    ///
    /// Foundation reads long numbers by way of decimals and may miss the nearest double by a few
    /// units in the last place.
    static func agree(_ first: JSONTree?, _ second: JSONTree?) -> Bool {
        switch (first, second) {
        case (.object(let left), .object(let right)):
            left.count == right.count && left.allSatisfy { agree($0.value, right[$0.key]) }
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy(agree)
        case (.string(let left), .string(let right)): left == right
        case (.number(let left), .number(let right)):
            abs(left - right) <= 4 * max(left.ulp, right.ulp)
        case (.boolean(let left), .boolean(let right)): left == right
        case (.null, .null): true
        default: false
        }
    }

    /// Turns what Foundation read into a tree.
    static func convert(_ value: Any) -> JSONTree? {
        switch value {
        case let members as [String: Any]: return .object(members.compactMapValues(convert))
        case let elements as [Any]: return .array(elements.compactMap(convert))
        case let text as String: return .string(Array(text.utf8))
        case let number as NSNumber:
            let isBoolean =
                "\(type(of: value))".contains("Bool") || value is Bool && number.objCType[0] == 0x63
            return isBoolean ? .boolean(number.boolValue) : .number(number.doubleValue)
        case is NSNull: return .null
        default: return nil
        }
    }

    /// Reads a tree with Foundation; `nil` if it refuses the text.
    static func readByFoundation(_ text: [UInt8]) -> JSONTree? {
        let options: JSONSerialization.ReadingOptions = [.fragmentsAllowed]
        guard let value = try? JSONSerialization.jsonObject(with: Data(text), options: options)
        else { return nil }
        return convert(value)
    }

    /// Makes a text at random, with white space and escapes where they may be.
    static func randomText(depth: Int, using generator: inout SeededGenerator) -> String {
        func pick(_ choices: [String], _ generator: inout SeededGenerator) -> String {
            choices.randomElement(using: &generator) ?? ""
        }
        let space = pick(["", "", " ", "\n\t", "\r "], &generator)
        let strings = [
            #""""#, #""plain""#, #""\"\\\/\b\f\n\r\t""#, #""\u00e9 é e\u0301 🌊 \ud83c\udf0a""#,
            #""long enough for a whole word, then \n an escape and ünïcödé""#, #""\u0000""#,
        ]
        let numbers = [
            "0", "-0", "1", "-12", "9223372036854775807", "-9223372036854775808", "1.5", "1e3",
            "-2.25E-2", "0.1", "123456789012345678901234567890", "5e-324",
        ]
        switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &generator) {
        case 0: return space + pick(strings, &generator)
        case 1: return pick(numbers, &generator) + space
        case 2: return space + pick(["true", "false", "null"], &generator)
        case 3: return pick(strings, &generator) + space
        case 4:
            let count = Int.random(in: 0..<4, using: &generator)
            let members = (0..<count).map {
                "\(space)\"k\($0)\"\(space):" + randomText(depth: depth - 1, using: &generator)
            }
            return space + "{" + members.joined(separator: ",") + "\(space)}"
        default:
            let count = Int.random(in: 0..<4, using: &generator)
            let elements = (0..<count).map { _ in
                randomText(depth: depth - 1, using: &generator)
            }
            return space + "[" + elements.joined(separator: ",") + "\(space)]\(space)"
        }
    }
}

@Suite struct JSONReaderTests {
    @Test func `Numbers in strings are written as in JSON`() {
        func read<Value>(
            _ text: String,
            _ body: (inout JSONReader) throws(JSONError) -> Value
        ) -> Value? {
            Array("\"\(text)\"".utf8).withUnsafeBufferPointer { bytes in
                var reader = JSONReader(bytes)
                reader.webForm = WebFieldForm(callerName: nil, assetOfReceipt: { _ in nil })
                return try? body(&reader)
            }
        }
        func int64(_ text: String) -> Int64? {
            read(text) { (it) throws(JSONError) in try it.int64() }
        }
        func double(_ text: String) -> Double? {
            read(text) { (it) throws(JSONError) in try it.finiteDouble() }
        }
        #expect(int64("-9007199254740993") == -9_007_199_254_740_993)
        #expect(double("-1.5e+2") == -150)
        for text in ["+5", "0x10", "", " 5", "five"] {
            #expect(int64(text) == nil, "\(text)")
            #expect(double(text) == nil, "\(text)")
        }
        for text in ["0x1p3", "inf", "nan", "1e999"] {
            #expect(double(text) == nil, "\(text)")
        }
    }

    @Test(arguments: 0..<4)
    func `Generated texts are parsed as Foundation parses them`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<250 {
            let text = Array(JSONTree.randomText(depth: 4, using: &generator).utf8)
            let expected = try #require(JSONTree.readByFoundation(text))
            #expect(
                JSONTree.agree(JSONTree.read(text), expected),
                "\(String(decoding: text, as: UTF8.self))"
            )
        }
    }

    @Test(arguments: 0..<4)
    func `Damaged texts that are accepted parse as in Foundation`(seed: Int) {
        var generator = SeededGenerator(seed: 1000 + UInt64(seed))
        var acceptedCount = 0
        for _ in 0..<1000 {
            let text = Array(JSONTree.randomText(depth: 3, using: &generator).utf8)
                .damaged(by: &generator)
            guard let tree = JSONTree.read(text) else { continue }
            acceptedCount += 1
            #expect(
                JSONTree.agree(tree, JSONTree.readByFoundation(text)),
                "\(String(decoding: text, as: UTF8.self))"
            )
        }
        #expect(acceptedCount > 50)
    }

    @Test(arguments: [
        ("", 0), ("{", 1), ("[1,]", 3), ("[1 2]", 3), ("{\"a\" 1}", 5), ("{a:1}", 1), ("[1]x", 3),
        ("01", 0), ("-", 1), ("1.", 2), ("1e", 2), (".5", 0), ("+1", 0), ("tru", 0), ("'a'", 0),
        ("\"a", 2), ("\"\\x\"", 1), ("\"\\u12g4\"", 1), ("\"\\ud800\"", 1),
        ("\"\\ud800\\u0041\"", 1), ("\"\\udc00\"", 1), ("\"\u{1}\"", 1), ("{\"a\":1,}", 7),
    ])
    func `Invalid text is rejected with its offset`(text: String, offset: Int) {
        let error = refusal(of: Array(text.utf8))
        #expect(error?.offset == offset)
    }

    @Test(
        arguments: [
            [0x22, 0x80, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22],
            [0x22, 0xE0, 0x80, 0x80, 0x22],
            [0x22, 0xF0, 0x80, 0x80, 0x80, 0x22], [0x22, 0xFF, 0x22],
        ] as [[UInt8]]
    )
    func `Text that is not UTF-8 is rejected`(text: [UInt8]) {
        #expect(refusal(of: text)?.message == "A string is not UTF-8.")
    }

    @Test func `Deep nesting is rejected without recursion`() {
        let deep = Array(String(repeating: "[", count: 100_000).utf8)
        #expect(refusal(of: deep)?.message == "Values are nested deeper than 512.")
    }

    @Test func `Integers are exact up to 64 bits`() throws {
        for (text, value) in [
            ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("-0", 0),
            ("9223372036854775808", nil), ("-9223372036854775809", nil),
            ("18446744073709551616", nil), ("99999999999999999999", nil), ("1.0", nil),
        ] {
            let number = try Array(text.utf8).withUnsafeBufferPointer { bytes in
                var reader = JSONReader(bytes)
                return try reader.number()
            }
            #expect(number.int64 == value, "\(text)")
            #expect(number.isWhole == !text.contains("."))
        }
    }

    private func refusal(of text: [UInt8]) -> JSONError? {
        text.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                try reader.skip()
                try reader.finish()
                return nil
            } catch {
                return error
            }
        }
    }
}

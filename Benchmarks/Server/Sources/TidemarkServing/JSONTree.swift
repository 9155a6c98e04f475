// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Any JSON, read and written with the reader and writer of the server.
indirect enum JSONTree {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONTree])
    case object([(name: String, value: JSONTree)])

    init(_ bytes: some Collection<UInt8>) throws {
        self = try bytes.readJSON { (reader) throws(JSONError) in try JSONTree(&reader) }
    }

    private init(_ reader: inout JSONReader) throws(JSONError) {
        switch try reader.peek() {
        case .null:
            try reader.null()
            self = .null
        case .boolean: self = .boolean(try reader.boolean())
        case .number:
            let number = try reader.number()
            if let integer = number.int64 {
                self = .integer(integer)
            } else {
                self = .number(reader.double(number) ?? 0)
            }
        case .string: self = .string(reader.copy(try reader.text()))
        case .array:
            var array = try reader.openArray()
            var values: [JSONTree] = []
            while try reader.nextElement(of: &array) { values.append(try JSONTree(&reader)) }
            self = .array(values)
        case .object:
            var object = try reader.openObject()
            var members: [(name: String, value: JSONTree)] = []
            while let name = try reader.nextKey(of: &object) {
                members.append((reader.copy(name), try JSONTree(&reader)))
            }
            self = .object(members)
        }
    }

    func written() -> [UInt8] {
        var bytes: [UInt8] = []
        write(into: &bytes)
        return bytes
    }

    private func write(into bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(literal: "null")
        case .boolean(let value): bytes.append(literal: value ? "true" : "false")
        case .integer(let value): bytes.append(jsonNumber: value)
        case .number(let value): bytes.append(jsonNumber: value)
        case .string(let value): bytes.append(jsonString: value)
        case .array(let values):
            bytes.append(literal: "[")
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(literal: ",") }
                value.write(into: &bytes)
            }
            bytes.append(literal: "]")
        case .object(let members):
            bytes.append(literal: "{")
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(literal: ",") }
                bytes.append(jsonString: member.name)
                bytes.append(literal: ":")
                member.value.write(into: &bytes)
            }
            bytes.append(literal: "}")
        }
    }
}

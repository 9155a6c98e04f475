// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// A field as it is written on the command line, `NAME=VALUE` or `NAME:TYPE=VALUE`, as a member of
/// an object of fields (Docs/formats/changes.md, "Fields").
struct FieldArgument {
    /// The member: the name and the value, as JSON.
    let member: [UInt8]

    /// What `--help` says about it.
    static let explanation: ArgumentHelp = """
        Fields as NAME=VALUE. A value that is JSON counts as JSON, all else as text. NAME:TYPE=VALUE \
        names the type, such as STRING, DOUBLE, TIMESTAMP, BYTES, REFERENCE or LOCATION. \
        NAME:ASSET=@FILE is an asset with the bytes of a file.
        """

    /// What stands before `=`, and the file, where an argument is an asset with the bytes of a file.
    static func assetFile(in text: String) -> (left: String, path: String)? {
        guard let end = text.firstIndex(of: "="), text[end...].hasPrefix("=@") else { return nil }
        let type = text[..<end].split(separator: ":").last.map { $0.uppercased() }
        guard type.flatMap({ FieldType(webName: $0) }) == .asset else { return nil }
        return (String(text[..<end]), String(text[end...].dropFirst(2)))
    }

    /// Reads an argument; whether the value is one of its type is found by who reads the JSON.
    init(_ text: String) throws(ValidationError) {
        guard let end = text.firstIndex(of: "=") else {
            throw ValidationError("'\(text)' is not a field; write NAME=VALUE.")
        }
        let left = text[..<end].split(separator: ":", omittingEmptySubsequences: false)
        guard left.count <= 2, let name = left.first, !name.isEmpty else {
            throw ValidationError("'\(text)' is not a field; write NAME=VALUE or NAME:TYPE=VALUE.")
        }
        let value = String(text[text.index(after: end)...])
        var member: [UInt8] = []
        member.append(jsonString: String(name))
        member.append(UInt8(ascii: ":"))
        if left.count == 2 {
            let typeName = left[1].uppercased()
            guard let type = FieldType(webName: typeName) else {
                let types = FieldType.allCases.map(\.webName).joined(separator: ", ")
                throw ValidationError(
                    "'\(text)': there is no field type \(typeName); the types are \(types)."
                )
            }
            member.append(literal: "{\"value\":")
            member.append(contentsOf: Self.json(value, as: type))
            member.append(literal: ",\"type\":")
            member.append(jsonString: typeName)
            member.append(literal: "}")
        } else {
            member.append(contentsOf: Self.json(value))
        }
        self.member = member
    }

    /// The JSON of a value without a type: what begins as JSON texts, lists and objects do has to be
    /// JSON, other values are if they can be read so.
    private static func json(_ value: String) -> [UInt8] {
        switch value.utf8.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): Array(value.utf8)
        default: isJSON(value) ? Array(value.utf8) : quoted(value)
        }
    }

    /// The JSON of a value whose type is known.
    private static func json(_ value: String, as type: FieldType) -> [UInt8] {
        switch type {
        case .string:
            return quoted(value)
        case .bytes where value.utf8.first != UInt8(ascii: "\""):
            return quoted(value)
        case .reference where value.utf8.first != UInt8(ascii: "{"):
            var json: [UInt8] = []
            json.append(literal: "{\"recordName\":")
            json.append(jsonString: value)
            json.append(UInt8(ascii: "}"))
            return json
        case .timestamp:
            return RFC3339.milliseconds(value).map { Array(String($0).utf8) } ?? Array(value.utf8)
        default:
            return Array(value.utf8)
        }
    }

    private static func quoted(_ value: String) -> [UInt8] {
        var json: [UInt8] = []
        json.append(jsonString: value)
        return json
    }

    private static func isJSON(_ value: String) -> Bool {
        Array(value.utf8).withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                try reader.skip()
                try reader.finish()
                return true
            } catch {
                return false
            }
        }
    }
}

extension Fields {
    /// The fields that arguments name, and those to remove.
    init(_ arguments: [String], removing removals: [String]) throws {
        var json: [UInt8] = [UInt8(ascii: "{")]
        var members = try arguments.map { try FieldArgument($0).member }
        for name in removals {
            var member: [UInt8] = []
            member.append(jsonString: name)
            member.append(literal: ":null")
            members.append(member)
        }
        json.append(contentsOf: members.joined(separator: [UInt8(ascii: ",")]))
        json.append(UInt8(ascii: "}"))
        var builder = FieldsBuilder()
        do {
            try json.withUnsafeBufferPointer { bytes throws(JSONError) in
                var reader = JSONReader(bytes)
                try builder.readFields(from: &reader, removesByNull: true)
                try reader.finish()
            }
        } catch {
            throw CommandError("\(error.message) NAME:TYPE=VALUE does so in short.")
        }
        self = try builder.finish()
    }
}

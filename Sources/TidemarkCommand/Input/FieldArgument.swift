// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// A field as it is written on the command line, `NAME=VALUE` or `NAME:TYPE=VALUE`, as a member of
/// an object of fields (Docs/formats/changes.md, "Fields").
struct FieldArgument {
    /// The member: the name and the value, as JSON.
    let member: [UInt8]

    /// The text of `--help` about the argument.
    static let explanation: ArgumentHelp = """
        Fields as NAME=VALUE. A value that is JSON counts as JSON, all else as text. NAME:TYPE=VALUE \
        names the type, such as STRING, DOUBLE, TIMESTAMP, BYTES, REFERENCE or LOCATION (LATITUDE,LONGITUDE). \
        NAME:ASSET=@FILE is an asset with the bytes of a file.
        """

    /// Returns the text before `=`, and the path of the file, if an argument is an asset with the
    /// bytes of a file.
    static func assetFile(in text: String) -> (left: String, path: String)? {
        guard let end = text.firstIndex(of: "="), text[end...].hasPrefix("=@") else { return nil }
        let type = text[..<end].split(separator: ":").last.map { $0.uppercased() }
        guard type.flatMap({ FieldType(webName: $0) }) == .asset else { return nil }
        return (String(text[..<end]), String(text[end...].dropFirst(2)))
    }

    /// Reads an argument.
    ///
    /// The reader of the JSON checks if the value matches its type.
    init(_ text: String) throws(ValidationError) {
        // The first `=` ends the name and the type, so a value may contain more of them.
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
            let json = Self.json(value, as: type)
            // The bytes of a file are uploaded first; here the value is their reference.
            let isFile = Self.assetFile(in: text) != nil
            guard isFile || Self.isJSON(json) else {
                throw ValidationError(
                    "'\(text)' is not a field: \(typeName) is written as \(type.argumentForm)."
                )
            }
            member.append(literal: "{\"value\":")
            member.append(contentsOf: json)
            member.append(member: "type", jsonString: typeName)
            member.append(literal: "}")
        } else {
            member.append(contentsOf: Self.json(value))
        }
        self.member = member
    }

    /// Returns the JSON of a value without a type.
    ///
    /// A value that begins as JSON texts, lists and objects do must be JSON; other values are JSON
    /// if they can be parsed as such.
    private static func json(_ value: String) -> [UInt8] {
        switch value.utf8.first {
        // A mistake in such a value is then an error of the JSON reader. Otherwise it would be
        // stored as text.
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): Array(value.utf8)
        default: isJSON(Array(value.utf8)) ? Array(value.utf8) : quoted(value)
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
            json.append(literal: "{")
            json.append(member: "recordName", jsonString: value)
            json.append(UInt8(ascii: "}"))
            return json
        case .location where value.utf8.first != UInt8(ascii: "{"):
            let parts = value.split(separator: ",", omittingEmptySubsequences: false)
            guard parts.count == 2 else { return Array(value.utf8) }
            // The parts are not checked here: the reader of the JSON rejects a part that is not a
            // number.
            return Array("{\"latitude\":\(parts[0]),\"longitude\":\(parts[1])}".utf8)
        case .timestamp:
            // JSON has milliseconds, so a time is converted. Other texts stay for the JSON reader
            // to check.
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

    private static func isJSON(_ value: [UInt8]) -> Bool {
        (try? value.readJSON { (reader) throws(JSONError) in try reader.skip() }) != nil
    }
}

extension FieldType {
    /// The form of the type's values on the command line.
    fileprivate var argumentForm: String {
        switch self {
        case .string, .bytes: "text"
        case .int64: "a whole number"
        case .double: "a number"
        case .timestamp: "a time such as 2026-02-03T04:05:06Z, or milliseconds since 1970"
        case .location: "LATITUDE,LONGITUDE or a JSON object"
        case .reference: "the name of a record, or a JSON object"
        case .asset: "@FILE, or a JSON object"
        default: "a JSON array"
        }
    }
}

extension Fields {
    /// The fields that arguments name, and those to remove.
    init(_ arguments: [String], removing removals: [String]) throws {
        var json: [UInt8] = [UInt8(ascii: "{")]
        var members = try arguments.map { try FieldArgument($0).member }
        // Removals are members with `null` of the same object. A field that is set and removed is
        // therefore rejected as given twice.
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
            try json.readJSON { (reader) throws(JSONError) in
                try builder.readFields(from: &reader, removesByNull: true)
            }
        } catch {
            let short =
                error.message.contains("; write {") ? " NAME:TYPE=VALUE does so in short." : ""
            throw CommandError(error.message + short)
        }
        self = try builder.finish()
    }
}

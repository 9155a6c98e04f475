// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Schema {
    /// The schema in the schema language, as CloudKit exports it.
    ///
    /// Sorted, one item per line, with the names of a record type's fields padded to one width and
    /// all system fields. Equal schemas have equal texts, and parsing the text gives the schema.
    public var text: String {
        var text = "DEFINE SCHEMA\n\n"
        for role in roles { text += role.text }
        if !roles.isEmpty { text += "\n" }
        for recordType in recordTypes { text += recordType.text + "\n" }
        return text
    }
}

extension Schema.Role {
    /// The role in the schema language, indented, with a line's end at its end.
    package var text: String { "    CREATE ROLE \(SchemaWords.name(name));\n" }
}

extension Schema.RecordType {
    /// The record type in the schema language, indented, with a line's end at its end.
    package var text: String {
        let names = fields.map { SchemaWords.name($0.name) }
        let width = names.map(\.unicodeScalars.count).max() ?? 0
        var lines = zip(names, fields).map { name, field in
            let padding = String(repeating: " ", count: width - name.unicodeScalars.count + 1)
            let indexes = field.indexes.isEmpty ? "" : " \(field.indexes)"
            return "\(name)\(padding)\(field.type)\(indexes)"
        }
        lines += grants.map { grant in
            let role = grant.role.isBuiltIn ? "\"\(grant.role)\"" : SchemaWords.name(grant.name)
            return "GRANT \(grant.permissions) TO \(role)"
        }
        let body = lines.map { "        \($0)" }.joined(separator: ",\n")
        return "    RECORD TYPE \(SchemaWords.name(name)) (\n\(body)\n    );\n"
    }
}

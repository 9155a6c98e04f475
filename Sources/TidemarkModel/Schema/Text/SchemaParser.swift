// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reads the schema language (Docs/schema.md), one item after another.
struct SchemaParser {
    private var scanner: SchemaScanner
    private var token: SchemaScanner.Token
    private var roles: [Name: Schema.Role] = [:]
    private var recordTypes: [Name: Schema.RecordType] = [:]
    private var positions: [Schema.Place: TextPosition] = [:]

    init(_ bytes: ArraySlice<UInt8>) throws(SchemaSyntaxError) {
        scanner = SchemaScanner(bytes)
        token = try scanner.next()
    }

    /// Reads the whole text.
    mutating func read() throws(SchemaSyntaxError) -> SchemaFile {
        positions[.schema] = token.position
        try expect("DEFINE", "SCHEMA", as: "a schema begins with DEFINE SCHEMA")
        while token.kind != .end {
            if isKeyword("CREATE") {
                try readRole()
            } else if isKeyword("RECORD") {
                try readRecordType()
            } else {
                throw unexpected("CREATE ROLE or RECORD TYPE")
            }
            try expectMark(";", "after each role and record type")
        }
        return SchemaFile(
            schema: Schema(roles: Array(roles.values), recordTypes: Array(recordTypes.values)),
            positions: positions
        )
    }

    // MARK: Items

    private mutating func readRole() throws(SchemaSyntaxError) {
        try expect("CREATE", "ROLE", as: "a role is made with CREATE ROLE")
        let (name, position) = try readName("a role's name after CREATE ROLE")
        try declare(.role(name), "role \(name)", at: position)
        roles[name] = Schema.Role(name)
    }

    private mutating func readRecordType() throws(SchemaSyntaxError) {
        try expect("RECORD", "TYPE", as: "a record type begins with RECORD TYPE")
        let (name, position) = try readName("a record type's name after RECORD TYPE")
        try declare(.recordType(name), "record type \(name)", at: position)
        try expectMark("(", "before the fields of record type \(name)")
        var fields: [Schema.Field] = []
        var grants: [Schema.Grant] = []
        while true {
            // An element may be empty, so a comma before the closing parenthesis is allowed
            // (Docs/schema.md, "The schema language").
            // GRANT is a reserved word. A field of that name is in quotes, and a quoted name is no
            // keyword.
            if isKeyword("GRANT") {
                grants.append(try readGrant(in: name))
            } else if !isMark(",") && !isMark(")") {
                fields.append(try readField(in: name))
            }
            if isMark(")") { break }
            guard isMark(",") else {
                throw unexpected("a comma or a closing parenthesis in record type \(name)")
            }
            try advance()
        }
        try advance()
        recordTypes[name] = Schema.RecordType(name, fields: fields, grants: grants)
    }

    private mutating func readField(
        in recordType: Name
    ) throws(SchemaSyntaxError) -> Schema.Field {
        let (name, position) = try readName("a field's name or GRANT in record type \(recordType)")
        try declare(.field(recordType, name), "field \(recordType).\(name)", at: position)
        let typePosition = token.position
        let type = try readType(of: name)
        if let system = Schema.SystemField(name), system.type != type {
            throw SchemaSyntaxError(
                "The system field \(name) is always \(system.type), not \(type); write "
                    + "\"\(name)\" \(system.type), or leave the field out.",
                at: typePosition
            )
        }
        var indexes: Schema.Indexes = []
        while let index = index() {
            indexes.insert(index)
            try advance()
        }
        if isKeyword("ENCRYPTED") {
            throw SchemaSyntaxError(
                "ENCRYPTED stands before the type: write \(name) ENCRYPTED \(type).",
                at: token.position
            )
        }
        return Schema.Field(name, type, indexes)
    }

    private mutating func readGrant(
        in recordType: Name
    ) throws(SchemaSyntaxError) -> Schema.Grant {
        try advance()
        var permissions: Schema.Permissions = []
        while true {
            guard let permission = permission() else { throw unexpected("READ, CREATE or WRITE") }
            permissions.insert(permission)
            try advance()
            guard isMark(",") else { break }
            try advance()
        }
        try expect("TO", as: "a grant names its role after TO")
        let (name, position) = try readName("a role's name after TO")
        let role = Schema.Role(name)
        let place = Schema.Place.grant(recordType, role)
        // Several grants to one role add up, so a second one is no error as a second field would
        // be.
        positions[place] = positions[place] ?? position
        return Schema.Grant(permissions, to: role)
    }

    // MARK: Types

    private mutating func readType(
        of field: Name
    ) throws(SchemaSyntaxError) -> Schema.DeclaredType {
        guard isKeyword("LIST") else { return try readElementType(of: field) }
        try advance()
        try expectMark("<", "after LIST")
        let position = token.position
        let element = try readElementType(of: field)
        try expectMark(">", "after the type of a list's elements")
        guard let list = element.list else {
            throw SchemaSyntaxError("There are no lists of \(element).", at: position)
        }
        return list
    }

    private mutating func readElementType(
        of field: Name
    ) throws(SchemaSyntaxError) -> Schema.DeclaredType {
        if isKeyword("NUMBER") { return try readNumber() }
        let isEncrypted = isKeyword("ENCRYPTED")
        if isEncrypted { try advance() }
        guard token.kind == .word, let type = FieldType(schemaWord: token.text) else {
            throw unexpectedType(of: field, isEncrypted: isEncrypted)
        }
        guard !isEncrypted || Schema.DeclaredType.canEncrypt(type) else {
            throw SchemaSyntaxError(
                "A field of type \(token.text) cannot be ENCRYPTED: assets always are, and the "
                    + "store has to read references.",
                at: token.position
            )
        }
        try advance()
        return isEncrypted ? .encrypted(type) : .plain(type)
    }

    private mutating func readNumber() throws(SchemaSyntaxError) -> Schema.DeclaredType {
        try advance()
        guard isKeyword("PREFERRED") else { return .number }
        try expect("PREFERRED", "AS", as: "a number is settled with PREFERRED AS")
        let isWhole = isKeyword("INT64")
        guard isWhole || isKeyword("DOUBLE") else {
            throw unexpected("INT64 or DOUBLE after PREFERRED AS")
        }
        try advance()
        // PREFERRED AS is not kept: `NUMBER PREFERRED AS INT64` is the same as INT64.
        return .plain(isWhole ? .int64 : .double)
    }

    private func unexpectedType(of field: Name, isEncrypted: Bool) -> SchemaSyntaxError {
        if isEncrypted, isKeyword("LIST") {
            return SchemaSyntaxError(
                "In an encrypted list ENCRYPTED stands before the elements' type: write "
                    + "LIST<ENCRYPTED STRING>.",
                at: token.position
            )
        }
        let hint = FieldType.likelySchemaWord(for: token.text).map { "; CloudKit's is \($0)" } ?? ""
        return SchemaSyntaxError(
            "Expected the type of field \(field), one of ASSET, BYTES, DOUBLE, INT64, LOCATION, "
                + "REFERENCE, STRING, TIMESTAMP, LIST<…>; found \(found)\(hint).",
            at: token.position
        )
    }

    // MARK: Words

    private mutating func advance() throws(SchemaSyntaxError) {
        token = try scanner.next()
    }

    private func isKeyword(_ word: String) -> Bool {
        token.kind == .word && SchemaWords.areEqual(token.text, word)
    }

    private func isMark(_ mark: String) -> Bool { token.kind == .mark && token.text == mark }

    private func index() -> Schema.Indexes? {
        Schema.Indexes.all.each.first { isKeyword($0.description) }
    }

    private func permission() -> Schema.Permissions? {
        Schema.Permissions.all.each.first { isKeyword($0.description) }
    }

    private mutating func readName(
        _ what: String
    ) throws(SchemaSyntaxError) -> (Name, TextPosition) {
        guard token.kind == .word || token.kind == .quoted else { throw unexpected(what) }
        // Other keywords, such as TYPE, are valid names here (Docs/schema.md, "The schema
        // language").
        if token.kind == .word, SchemaWords.isReserved(token.text) {
            throw SchemaSyntaxError(
                "Expected \(what); found the reserved word \(token.text). A name that is a "
                    + "reserved word stands in double quotes.",
                at: token.position
            )
        }
        let name = (Name(token.text), token.position)
        try advance()
        return name
    }

    /// Records the position of a declaration, and refuses a second one.
    private mutating func declare(
        _ place: Schema.Place,
        _ what: String,
        at position: TextPosition
    ) throws(SchemaSyntaxError) {
        if let earlier = positions[place] {
            throw SchemaSyntaxError(
                "The \(what) is declared at \(earlier) already; keep one of the two.",
                at: position
            )
        }
        positions[place] = position
    }

    private mutating func expect(
        _ keywords: String...,
        as rule: String
    ) throws(SchemaSyntaxError) {
        for keyword in keywords {
            guard isKeyword(keyword) else { throw unexpected("\(keyword): \(rule)") }
            try advance()
        }
    }

    private mutating func expectMark(
        _ mark: String,
        _ place: String
    ) throws(SchemaSyntaxError) {
        guard isMark(mark) else { throw unexpected("\"\(mark)\" \(place)") }
        try advance()
    }

    private func unexpected(_ what: String) -> SchemaSyntaxError {
        SchemaSyntaxError("Expected \(what); found \(found).", at: token.position)
    }

    private var found: String {
        switch token.kind {
        case .end: "the end of the text"
        case .word: token.text
        case .quoted, .mark: "\"\(token.text)\""
        }
    }
}

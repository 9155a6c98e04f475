// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The words of the schema language.
enum SchemaWords {
    /// Returns true if two words are equal, ignoring the case of ASCII letters, as keywords do.
    static func areEqual(_ first: String, _ second: String) -> Bool {
        func lowercased(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte | 0x20 : byte }
        return first.utf8.count == second.utf8.count
            && zip(first.utf8, second.utf8).allSatisfy { lowercased($0) == lowercased($1) }
    }

    /// Returns true if a word can only be a name in double quotes.
    static func isReserved(_ word: String) -> Bool {
        ["GRANT", "PREFERRED", "QUERYABLE", "SORTABLE", "SEARCHABLE"]
            .contains { areEqual($0, word) }
    }

    /// Returns a name in the form of the language: in double quotes if it needs them.
    static func name(_ name: Name) -> String {
        let isPlain = name.withBytes { bytes in
            guard let first = bytes.first, SchemaScanner.isLetter(first) else { return false }
            return bytes.allSatisfy(SchemaScanner.isWordByte)
        }
        return isPlain && !isReserved(name.string) ? name.string : "\"\(name)\""
    }
}

extension FieldType {
    /// Creates the type that a word of the schema language names; not a list.
    init?(schemaWord word: String) {
        let types = Self.allCases.filter { $0.element == nil }
        let found = types.first { type in
            SchemaWords.areEqual(word, Schema.DeclaredType.plain(type).description)
        }
        guard let found else { return nil }
        self = found
    }

    /// Returns the word that was probably meant by a type name of another language.
    static func likelySchemaWord(for word: String) -> String? {
        let guesses = [
            ("BOOL", "INT64, with 0 and 1"), ("BOOLEAN", "INT64, with 0 and 1"), ("INT", "INT64"),
            ("INTEGER", "INT64"), ("FLOAT", "DOUBLE"), ("REAL", "DOUBLE"), ("TEXT", "STRING"),
            ("DATE", "TIMESTAMP"), ("DATETIME", "TIMESTAMP"), ("TIME", "TIMESTAMP"),
            ("DATA", "BYTES"), ("BLOB", "BYTES"), ("FILE", "ASSET"), ("ASSETID", "ASSET"),
            ("REF", "REFERENCE"), ("ARRAY", "LIST<…>"),
        ]
        return guesses.first { SchemaWords.areEqual($0.0, word) }?.1
    }
}

extension Schema.DeclaredType {
    /// The type of a list of such values; `nil` for lists.
    var list: Self? {
        switch self {
        case .plain(let type): type.listType.map(Self.plain)
        case .encrypted(let type): type.listType.map(Self.encrypted)
        case .number: .numberList
        case .numberList: nil
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct SchemaProblemTests {
    private func problems(_ items: String, limits: Limits = Limits()) throws -> [String] {
        try SchemaFile("DEFINE SCHEMA\n\(items)").problems(limits: limits)
            .map { "\($0.1): \($0.0)" }
    }

    static let cases: [(String, String)] = [
        (
            "RECORD TYPE \"_Note\" ();",
            "2:13: error: The record type \"_Note\" is reserved for the system. Choose another "
                + "name."
        ),
        (
            "RECORD TYPE \"cloudkit.note\" ();",
            "2:13: error: The record type \"cloudkit.note\" is reserved for the system. Choose "
                + "another name."
        ),
        (
            "RECORD TYPE \"my note\" ();",
            "2:13: error: The record type \"my note\" is not 1 to 255 ASCII letters, digits and "
                + "underscores with a letter first. Choose another name."
        ),
        (
            "RECORD TYPE \"9\" ();",
            "2:13: error: The record type \"9\" is not 1 to 255 ASCII letters, digits and "
                + "underscores with a letter first. Choose another name."
        ),
        (
            "RECORD TYPE \"a.b\" ();",
            "2:13: warning: The record type \"a.b\" has a dot, which CloudKit does not allow in "
                + "custom names. Use an underscore if you want to use the schema with CloudKit."
        ),
        (
            "RECORD TYPE A (\"___title\" STRING);",
            "2:16: error: The field \"___title\" is reserved for the system. Use one of "
                + "___createTime, ___createdBy, ___etag, ___modTime, ___modifiedBy, ___recordID, "
                + "or another name."
        ),
        (
            "RECORD TYPE A (\"cloudkit.title\" STRING);",
            "2:16: error: The field \"cloudkit.title\" is reserved for the system. Use one of "
                + "___createTime, ___createdBy, ___etag, ___modTime, ___modifiedBy, ___recordID, "
                + "or another name."
        ),
        (
            "RECORD TYPE A (f ASSET QUERYABLE);",
            "2:16: error: The field A.f of type ASSET cannot be QUERYABLE: an asset's bytes are "
                + "not part of the record. Remove QUERYABLE."
        ),
        (
            "RECORD TYPE A (f ENCRYPTED STRING SORTABLE);",
            "2:16: error: The field A.f of type ENCRYPTED STRING cannot be SORTABLE: the store "
                + "cannot read what a client encrypted. Remove SORTABLE."
        ),
        (
            "RECORD TYPE A (f INT64 SEARCHABLE);",
            "2:16: error: The field A.f of type INT64 cannot be SEARCHABLE: only texts can be "
                + "searched for words. Remove SEARCHABLE."
        ),
        (
            "RECORD TYPE A (f BYTES QUERYABLE);",
            "2:16: warning: The field A.f of type BYTES is QUERYABLE, which no query can use: no "
                + "predicate can name a field of bytes. Leave QUERYABLE out."
        ),
        (
            "RECORD TYPE A (f LIST<STRING> SORTABLE);",
            "2:16: warning: The field A.f of type LIST<STRING> is SORTABLE, which no query can "
                + "use: lists have no order. Leave SORTABLE out."
        ),
        (
            "RECORD TYPE A (GRANT READ TO editor);",
            "2:30: error: Record type A grants READ to the role editor, which does not exist. Add "
                + "CREATE ROLE editor, or name another role."
        ),
        (
            "RECORD TYPE A (GRANT READ, WRITE TO \"_world\");",
            "2:37: warning: Record type A grants WRITE to \"_world\", which allows nothing: "
                + "nobody writes without signing in. Grant it to \"_icloud\" or to a role."
        ),
        (
            "RECORD TYPE A (GRANT CREATE TO \"_creator\");",
            "2:32: warning: Record type A grants CREATE to \"_creator\", which allows nothing: a "
                + "record has no creator before it is created. Grant it to \"_icloud\" or to a "
                + "role."
        ),
        (
            "CREATE ROLE \"_world\";",
            "2:13: error: The role \"_world\" is reserved for the system. Choose another name."
        ),
        (
            "CREATE ROLE \"my role\";",
            "2:13: error: The role \"my role\" is not 1 to 255 ASCII letters, digits and "
                + "underscores with a letter first. Choose another name."
        ),
    ]

    @Test(arguments: cases)
    func `A problem has a text, a position and a remedy`(_ item: String, _ problem: String) throws {
        #expect(try problems(item) == [problem])
    }

    @Test func `Problems are in the order of the text`() throws {
        let found = try problems(
            "RECORD TYPE \"b c\" (); RECORD TYPE A (z ASSET SORTABLE,\n\"a a\" STRING);"
        )
        #expect(found.map { $0.prefix(5) } == ["2:13:", "2:38:", "3:1: "])
    }

    @Test func `Exceeded limits are reported`() throws {
        var limits = Limits()
        limits.recordTypesPerSchema = 2
        limits.fieldsPerRecordType = 1
        limits.rolesPerSchema = 1
        limits.identifierByteCount = 5
        let found = try problems(
            "CREATE ROLE a; CREATE ROLE b; RECORD TYPE A (b STRING, \"___etag\" STRING); RECORD TYPE B "
                + "(b STRING, longer STRING);",
            limits: limits
        )
        #expect(
            found == [
                "1:1: error: The schema has 2 roles; at most 1 are allowed. Remove some, or raise "
                    + "the limit.",
                "1:1: error: The schema has 3 record types; at most 2 are allowed. Remove some, or "
                    + "raise the limit.",
                "2:87: error: Record type B has 2 fields; at most 1 are allowed. Split the type, or "
                    + "raise the limit.",
                "2:100: error: The field \"longer\" is not 1 to 5 ASCII letters, digits and "
                    + "underscores with a letter first. Choose another name.",
            ]
        )
    }

    @Test func `An encrypted reference, which text cannot express, is rejected`() {
        let field = Schema.Field("f", .encrypted(.reference))
        let schema = Schema(recordTypes: [Schema.RecordType("A", fields: [field])])
        #expect(schema.problems().map(\.place) == [.field("A", "f")])
        #expect(schema.problems().first?.severity == .error)
    }

    @Test func `Each index on each type is used, idle or rejected as in the table`() {
        func marks(_ type: Schema.DeclaredType) -> String {
            [Schema.Indexes.queryable, .sortable, .searchable].map { index in
                switch type.use(of: index) {
                case .used: "+"
                case .idle: "."
                case .refused: "-"
                }
            }.joined()
        }
        let table: [(FieldType, String)] = [
            (.string, "+++"), (.int64, "++-"), (.double, "++-"), (.bytes, "..-"),
            (.timestamp, "++-"), (.location, "++-"), (.reference, "++-"), (.asset, "---"),
            (.stringList, "+.+"), (.int64List, "+.-"), (.doubleList, "+.-"), (.bytesList, "..-"),
            (.timestampList, "+.-"), (.locationList, "+.-"), (.referenceList, "+.-"),
            (.assetList, "---"),
        ]
        #expect(table.map(\.0) == FieldType.allCases)
        for (type, expected) in table {
            #expect(marks(.plain(type)) == expected, "\(type)")
            #expect(marks(.encrypted(type)) == "---", "\(type)")
        }
        #expect(marks(.number) == "++-")
        #expect(marks(.numberList) == "+.-")
        #expect(
            Schema.DeclaredType.plain(.stringList).automaticIndexes == [.queryable, .searchable]
        )
        #expect(Schema.DeclaredType.plain(.bytes).automaticIndexes == [])
        #expect(Schema.DeclaredType.plain(.reference).automaticIndexes == .queryable)
    }

    @Test func `System fields are found by every name that queries use`() throws {
        var note = Schema.RecordType("Note", fields: [Schema.Field("recordID", .plain(.string))])
        #expect(note.field(key: "recordName")?.name == "___recordID")
        #expect(note.field(key: "___recordID")?.name == "___recordID")
        #expect(note.field(key: "creationDate")?.name == "___createTime")
        #expect(note.field(key: "createdTimestamp")?.name == "___createTime")
        #expect(note.field(key: "modifiedUserRecordName")?.name == "___modifiedBy")
        #expect(note.field(key: "recordID")?.name == "recordID", "a type's own field comes first")
        #expect(note.field(key: "other") == nil)
        note.set(Schema.Field("___etag", .plain(.int64), .queryable))
        #expect(note["___etag"] == Schema.Field("___etag", .plain(.string), .queryable))
        note.remove(field: "___etag")
        #expect(note["___etag"] == Schema.Field("___etag", .plain(.string)))
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TidemarkModel

@Suite struct SchemaTextTests {
    private func read(_ text: String) throws -> Schema { try SchemaFile(text).schema }

    /// Reads the elements of one record type.
    private func recordType(_ elements: String) throws -> Schema.RecordType {
        let schema = try read("DEFINE SCHEMA CREATE ROLE editor; RECORD TYPE Note (\(elements));")
        return try #require(schema["Note"])
    }

    // MARK: What there is in the language

    @Test func `A new container has only the Users type`() throws {
        #expect(try read("DEFINE SCHEMA") == Schema())
        #expect(
            Schema().text == """
                DEFINE SCHEMA

                    RECORD TYPE Users (
                        "___createTime" TIMESTAMP,
                        "___createdBy"  REFERENCE,
                        "___etag"       STRING,
                        "___modTime"    TIMESTAMP,
                        "___modifiedBy" REFERENCE,
                        "___recordID"   REFERENCE,
                        roles           LIST<INT64>,
                        GRANT WRITE TO "_creator",
                        GRANT READ TO "_world"
                    );


                """
        )
    }

    @Test func `A schema exported by CloudKit is written with the same bytes`() throws {
        let text = """
            DEFINE SCHEMA

                CREATE ROLE editor;
                CREATE ROLE "grant";

                RECORD TYPE Boat (
                    Z_count          INT64 QUERYABLE SORTABLE,
                    "___createTime"  TIMESTAMP QUERYABLE SORTABLE,
                    "___createdBy"   REFERENCE,
                    "___etag"        STRING,
                    "___modTime"     TIMESTAMP,
                    "___modifiedBy"  REFERENCE,
                    "___recordID"    REFERENCE QUERYABLE,
                    berth            LOCATION QUERYABLE,
                    crew             LIST<REFERENCE> QUERYABLE,
                    depth            NUMBER,
                    "grant"          STRING QUERYABLE SEARCHABLE SORTABLE,
                    hull             BYTES QUERYABLE SORTABLE,
                    log              LIST<ENCRYPTED STRING>,
                    owner            ENCRYPTED STRING,
                    photo            ASSET,
                    photosOfTheWreck LIST<ASSET>,
                    tides            LIST<NUMBER>,
                    GRANT WRITE TO "_creator",
                    GRANT READ, CREATE TO "_icloud",
                    GRANT READ TO "_world",
                    GRANT READ, CREATE, WRITE TO editor
                );

                RECORD TYPE Users (
                    "___createTime" TIMESTAMP,
                    "___createdBy"  REFERENCE,
                    "___etag"       STRING,
                    "___modTime"    TIMESTAMP,
                    "___modifiedBy" REFERENCE,
                    "___recordID"   REFERENCE QUERYABLE,
                    roles           LIST<INT64>,
                    GRANT WRITE TO "_creator",
                    GRANT READ TO "_world"
                );

                RECORD TYPE "cloudkit.share" (
                    "___createTime"               TIMESTAMP,
                    "___createdBy"                REFERENCE,
                    "___etag"                     STRING,
                    "___modTime"                  TIMESTAMP,
                    "___modifiedBy"               REFERENCE,
                    "___recordID"                 REFERENCE,
                    "cloudkit.thumbnailImageData" BYTES,
                    "cloudkit.title"              STRING,
                    "cloudkit.type"               STRING,
                    GRANT WRITE TO "_creator",
                    GRANT CREATE TO "_icloud",
                    GRANT READ TO "_world"
                );


            """
        let file = try SchemaFile(text)
        #expect(file.schema.text == text)
        #expect(file.schema["cloudkit.share"] == .share)
        #expect(file.problems().allSatisfy { $0.0.severity == .warning })
        let boat = try #require(file.schema["Boat"])
        #expect(
            boat["Z_count"] == Schema.Field("Z_count", .plain(.int64), [.queryable, .sortable])
        )
        #expect(boat["log"]?.type == .encrypted(.stringList))
        #expect(boat["owner"]?.type == .encrypted(.string))
        #expect(boat["depth"]?.type == .number)
        #expect(boat["tides"]?.type == .numberList)
        #expect(boat["photosOfTheWreck"]?.type == .plain(.assetList))
        #expect(boat["___recordID"]?.indexes == .queryable)
        #expect(boat[Schema.Role("editor")] == [.read, .create, .write])
        #expect(file.schema.roles.map(\.name) == ["editor", "grant"])
    }

    @Test func `Every type is parsed as it is written`() throws {
        for type in Schema.DeclaredType.all {
            #expect(try recordType("f \(type)")["f"]?.type == type, "\(type)")
        }
    }

    @Test(arguments: [
        ("f NUMBER PREFERRED AS INT64", Schema.DeclaredType.plain(.int64)),
        ("f NUMBER PREFERRED AS DOUBLE", .plain(.double)),
        ("f LIST<NUMBER PREFERRED AS DOUBLE>", .plain(.doubleList)),
    ])
    func `A decided number type is parsed as that type`(
        _ field: String,
        _ type: Schema.DeclaredType
    ) throws {
        #expect(try recordType(field)["f"]?.type == type)
    }

    @Test func `Keywords ignore case, and names do not`() throws {
        let schema = try read(
            "define Schema record TYPE note (Title string queryable, grant read to \"_world\");"
        )
        let note = try #require(schema["note"])
        #expect(note["Title"] == Schema.Field("Title", .plain(.string), .queryable))
        #expect(note["title"] == nil)
        #expect(note[.world] == .read)
    }

    @Test func `Words that are not reserved can be names`() throws {
        let type = try recordType(
            "type STRING, list LIST<STRING>, string INT64, to DOUBLE, record BYTES, read ASSET"
        )
        #expect(type.fields.count { !$0.isSystem } == 6)
        #expect(type["list"]?.type == .plain(.stringList))
    }

    @Test func `Comments of every form and all white space are skipped`() throws {
        let text = """
            \u{FEFF}// a remark "with quotes
            DEFINE/* several
            lines * / -- */SCHEMA -- another
            \tRECORD\u{B}TYPE\u{C}Note(title STRING//end
            /**/,/* * **/done INT64)\r\n; -- last
            """
        #expect(try read(text)["Note"]?["done"]?.type == .plain(.int64))
    }

    @Test func `Elements may be empty, as in Apple's grammar`() throws {
        #expect(try recordType("") == Schema.RecordType("Note"))
        #expect(try recordType(",title STRING,,")["title"] != nil)
    }

    @Test func `Grants to one role are combined`() throws {
        let type = try recordType("GRANT READ TO editor, GRANT WRITE, READ TO editor")
        #expect(type[Schema.Role("editor")] == [.read, .write])
        #expect(type.grants.count == 1)
    }

    @Test func `A schema text without Users still has that type`() throws {
        #expect(try read("DEFINE SCHEMA RECORD TYPE A (b STRING);")["Users"] == .users)
    }

    // MARK: What cannot be read

    static let errors: [(String, String)] = [
        (
            "",
            "1:1: Expected DEFINE: a schema begins with DEFINE SCHEMA; found the end of the text."
        ),
        (
            "-- x",
            "1:5: Expected DEFINE: a schema begins with DEFINE SCHEMA; found the end of the text."
        ),
        ("DEFINE\nTABLE", "2:1: Expected SCHEMA: a schema begins with DEFINE SCHEMA; found TABLE."),
        ("DEFINE SCHEMA x", "1:15: Expected CREATE ROLE or RECORD TYPE; found x."),
        (
            "DEFINE SCHEMA CREATE ROLE r",
            "1:28: Expected \";\" after each role and record type; found the end of the text."
        ),
        (
            "DEFINE SCHEMA CREATE ROLE (",
            "1:27: Expected a role's name after CREATE ROLE; found \"(\"."
        ),
        (
            "DEFINE SCHEMA CREATE ROLE r; CREATE ROLE r;",
            "1:42: The role r is declared at 1:27 already; keep one of the two."
        ),
        (
            "DEFINE SCHEMA RECORD T",
            "1:22: Expected TYPE: a record type begins with RECORD TYPE; found T."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (); RECORD TYPE A ();",
            "1:45: The record type A is declared at 1:27 already; keep one of the two."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A x",
            "1:29: Expected \"(\" before the fields of record type A; found x."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE cloudkit.share (",
            "1:27: The name cloudkit.share must stand in double quotes, because it is more than a letter followed by letters, digits and underscores."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (___recordID REFERENCE",
            "1:30: The name ___recordID must stand in double quotes, because it is more than a letter followed by letters, digits and underscores."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a STRING, a INT64)",
            "1:40: The field A.a is declared at 1:30 already; keep one of the two."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a STRING b STRING)",
            "1:39: Expected a comma or a closing parenthesis in record type A; found b."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a STRING",
            "1:38: Expected a comma or a closing parenthesis in record type A; found the end of the text."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a)",
            "1:31: Expected the type of field a, one of ASSET, BYTES, DOUBLE, INT64, LOCATION, REFERENCE, STRING, TIMESTAMP, LIST<…>; found \")\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a BOOLEAN)",
            "1:32: Expected the type of field a, one of ASSET, BYTES, DOUBLE, INT64, LOCATION, REFERENCE, STRING, TIMESTAMP, LIST<…>; found BOOLEAN; CloudKit's is INT64, with 0 and 1."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a LIST STRING)",
            "1:37: Expected \"<\" after LIST; found STRING."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a LIST<STRING)",
            "1:43: Expected \">\" after the type of a list's elements; found \")\"."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a LIST<LIST<STRING>>)",
            "1:37: Expected the type of field a, one of ASSET, BYTES, DOUBLE, INT64, LOCATION, REFERENCE, STRING, TIMESTAMP, LIST<…>; found LIST."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a ENCRYPTED LIST<STRING>)",
            "1:42: In an encrypted list ENCRYPTED stands before the elements' type: write LIST<ENCRYPTED STRING>."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a STRING ENCRYPTED)",
            "1:39: ENCRYPTED stands before the type: write a ENCRYPTED STRING."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a ENCRYPTED ASSET)",
            "1:42: A field of type ASSET cannot be ENCRYPTED: assets always are, and the store has to read references."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (a NUMBER PREFERRED AS STRING)",
            "1:52: Expected INT64 or DOUBLE after PREFERRED AS; found STRING."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (queryable STRING)",
            "1:30: Expected a field's name or GRANT in record type A; found the reserved word queryable. A name that is a reserved word stands in double quotes."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (\"___etag\" INT64)",
            "1:40: The system field ___etag is always STRING, not INT64; write \"___etag\" STRING, or leave the field out."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (GRANT DELETE TO r)",
            "1:36: Expected READ, CREATE or WRITE; found DELETE."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (GRANT READ, TO r)",
            "1:42: Expected READ, CREATE or WRITE; found TO."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (GRANT READ r)",
            "1:41: Expected TO: a grant names its role after TO; found r."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE A (GRANT READ TO _world)",
            "1:44: The name _world must stand in double quotes, because it is more than a letter followed by letters, digits and underscores."
        ),
        (
            "DEFINE SCHEMA RECORD TYPE \"A\n\"",
            "1:27: The double quote is not closed before the end of the line; close it after the name."
        ),
        ("DEFINE SCHEMA RECORD TYPE \"\" (", "1:27: The name between the double quotes is empty."),
        ("DEFINE SCHEMA /* x\n\n", "1:15: The comment is not closed; end it with */."),
        ("DEFINE\r\nSCHEMA\rRECORD é", "3:8: Found \"é\", which means nothing here; remove it."),
        ("DEFINE SCHEMA é RECORD %", "1:15: Found \"é\", which means nothing here; remove it."),
        (
            "DEFINE SCHEMA \u{1}",
            "1:15: Found a control character, which means nothing here; remove it."
        ),
    ]

    @Test(arguments: errors)
    func `An error has its position, what was expected and what was found`(
        _ text: String,
        _ message: String
    ) {
        do throws(SchemaSyntaxError) {
            let file = try SchemaFile(text)
            Issue.record("\(text) reads as \(file.schema.text)")
        } catch {
            #expect(error.description == message)
        }
    }

    @Test func `Bytes that are not UTF-8 are rejected with their position`() {
        let bytes = Array("DEFINE SCHEMA\n-- é".utf8) + [0xFF]
        #expect(
            throws: SchemaSyntaxError(
                "The text is not UTF-8; save it in that encoding.",
                at: TextPosition(line: 2, column: 5)
            )
        ) {
            try SchemaFile(bytes: bytes[...])
        }
    }

    // MARK: Properties

    @Test(arguments: 0..<(runsLongTests ? 200 : 6))
    func `A written schema parses to an equal schema`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<10 {
            let schema = Schema.random(using: &generator)
            let file = try SchemaFile(schema.text)
            #expect(file.schema == schema)
            #expect(file.schema.text == schema.text)
            #expect(file.problems().allSatisfy { $0.0.severity == .warning })
            // White space does not matter.
            let squeezed = schema.text.split { $0.isWhitespace }.joined(separator: " ")
            #expect(try SchemaFile(squeezed).schema == schema)
        }
    }

    @Test(arguments: 0..<(runsLongTests ? 200 : 6))
    func `A damaged text is parsed or rejected, and never traps`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let text = Schema.random(using: &generator).text
        for _ in 0..<80 {
            let bytes = Array(text.utf8).damaged(by: &generator)
            do throws(SchemaSyntaxError) {
                let schema = try SchemaFile(bytes: bytes[...]).schema
                let isSound = schema.problems().allSatisfy { $0.severity == .warning }
                #expect(!isSound || (try? SchemaFile(schema.text).schema) == schema)
            } catch {
                let lines = bytes.split(omittingEmptySubsequences: false) { $0 == 10 || $0 == 13 }
                #expect((1...lines.count).contains(error.position.line))
                #expect(error.position.column >= 1)
                #expect(!error.message.isEmpty)
            }
        }
    }

    @Test(arguments: 0..<(runsLongTests ? 200 : 6))
    func `Words in the wrong order are parsed or rejected`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let words = Schema.random(using: &generator).text.split { $0.isWhitespace }
            .map(String.init)
        for _ in 0..<40 {
            var words = words
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: 0..<words.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: words.remove(at: index)
                case 1: words.insert(words.randomElement(using: &generator) ?? ";", at: index)
                default: words.swapAt(index, Int.random(in: 0..<words.count, using: &generator))
                }
            }
            guard let schema = try? SchemaFile(words.joined(separator: "\n")).schema else {
                continue
            }
            let isSound = schema.problems().allSatisfy { $0.severity == .warning }
            #expect(!isSound || (try? SchemaFile(schema.text).schema) == schema)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A long text is parsed in time proportional to its length`() throws {
        let fields = (0..<6_000).map { "field\($0) STRING" }.joined(separator: ",")
        let file = try SchemaFile("DEFINE SCHEMA RECORD TYPE A (\(fields));")
        #expect(file.schema["A"]?.fields.count == 6_006)
        #expect(
            file.problems().map(\.0.message) == [
                "Record type A has 6000 fields; at most 1000 are allowed."
            ]
        )
        #expect(throws: SchemaSyntaxError.self) {
            try SchemaFile("DEFINE SCHEMA" + String(repeating: "/*", count: 100_000))
        }
        #expect(throws: SchemaSyntaxError.self) {
            try SchemaFile(String(repeating: "(", count: 100_000))
        }
    }
}

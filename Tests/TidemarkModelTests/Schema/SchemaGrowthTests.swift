// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TidemarkModel

@Suite struct SchemaGrowthTests {
    private let schema: Schema

    init() throws {
        schema = try SchemaFile(
            """
            DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE, count INT64, secret ENCRYPTED STRING,
                size NUMBER, sizes LIST<NUMBER>, photo ASSET, data BYTES, "___recordID" REFERENCE);
            """
        ).schema
    }

    private func fields(
        _ set: [(String, FieldValue?)],
        encrypted: [(String, FieldValue)] = []
    ) throws -> Fields {
        var builder = FieldsBuilder()
        for (name, value) in set { try builder.set(name, value) }
        for (name, value) in encrypted { try builder.set(name, value, isEncrypted: true) }
        return try builder.finish()
    }

    private func growth(
        _ fields: Fields,
        as recordType: Name = "Note",
        in environment: Environment = .development,
        scope: DatabaseScope = .private,
        limits: Limits = Limits()
    ) throws(SyncError) -> [SchemaChange] {
        try SchemaGrowth(in: environment)
            .changes(of: schema, saving: fields, as: recordType, in: scope, limits: limits)
    }

    private func refusal(
        _ fields: Fields,
        as recordType: Name = "Note",
        in environment: Environment = .development,
        scope: DatabaseScope = .private,
        limits: Limits = Limits()
    ) -> SyncError? {
        do throws(SyncError) {
            _ = try growth(
                fields,
                as: recordType,
                in: environment,
                scope: scope,
                limits: limits
            )
            return nil
        } catch {
            return error
        }
    }

    // MARK: Saving

    @Test(arguments: Environment.allCases)
    func `A save that fits changes nothing`(_ environment: Environment) throws {
        let fitting = try fields(
            [
                ("title", "x"), ("count", 1), ("size", 1.5), ("sizes", .int64List([1])),
                ("gone", nil),
            ],
            encrypted: [("secret", "x")]
        )
        #expect(try growth(fitting, in: environment).isEmpty)
        #expect(RecordChecks(schema).admit(fitting, as: "Note"))
        let ciphertext = try fields([("size", 1)], encrypted: [("secret", .bytes([1]))])
        #expect(try growth(ciphertext, in: environment).isEmpty)
        #expect(RecordChecks(schema).admit(ciphertext, as: "Note"))
        #expect(try growth(Fields(), in: environment).isEmpty)
        #expect(RecordChecks(schema).admit(Fields(), as: "Users"))
    }

    @Test func `Development creates types with fields, indexes and default grants`() throws {
        let changes = try growth(
            try fields(
                [
                    ("name", "x"), ("n", 1), ("d", 0.5), ("when", .timestamp(0)),
                    ("where", .location(Location(latitude: 0, longitude: 0))),
                    ("to", .reference(Reference(recordName: "r"))), ("b", .bytes([])),
                    ("tags", .stringList([])), ("cleared", nil),
                ],
                encrypted: [("hidden", 1)]
            ),
            as: "Task"
        )
        #expect(changes.count == 1)
        let grown = schema.applying(changes)
        #expect(grown.changes(to: schema).map(\.description) == ["remove record type Task"])
        let text = try #require(grown["Task"]).text
        #expect(
            text == """
                    RECORD TYPE Task (
                        "___createTime" TIMESTAMP,
                        "___createdBy"  REFERENCE,
                        "___etag"       STRING,
                        "___modTime"    TIMESTAMP,
                        "___modifiedBy" REFERENCE,
                        "___recordID"   REFERENCE,
                        b               BYTES,
                        d               DOUBLE QUERYABLE SORTABLE,
                        hidden          ENCRYPTED INT64,
                        n               INT64 QUERYABLE SORTABLE,
                        name            STRING QUERYABLE SEARCHABLE SORTABLE,
                        tags            LIST<STRING> QUERYABLE SEARCHABLE,
                        to              REFERENCE QUERYABLE,
                        when            TIMESTAMP QUERYABLE SORTABLE,
                        where           LOCATION QUERYABLE SORTABLE,
                        GRANT WRITE TO "_creator",
                        GRANT CREATE TO "_icloud",
                        GRANT READ TO "_world"
                    );

                """
        )
    }

    @Test func `Development adds fields to a type, optionally without indexes`() throws {
        let save = try fields([("due", .timestamp(1)), ("title", "x"), ("kind", "k")])
        #expect(
            try growth(save).map(\.description) == [
                "add field Note.due TIMESTAMP QUERYABLE SORTABLE",
                "add field Note.kind STRING QUERYABLE SEARCHABLE SORTABLE",
            ]
        )
        var plain = SchemaGrowth(in: .development)
        plain.indexesNewFields = false
        #expect(
            try plain.changes(of: schema, saving: save, as: "Note").map(\.description)
                == ["add field Note.due TIMESTAMP", "add field Note.kind STRING"]
        )
    }

    @Test func `Production rejects new types and new fields`() throws {
        let save = try fields([("name", "x")])
        #expect(
            refusal(save, as: "Task", in: .production)?.description
                == "invalidArguments (12): Cannot create new type Task in production schema. Save "
                + "one in development, then promote development's schema. Correct the request; "
                + "repeating it as it is does not help."
        )
        #expect(
            refusal(save, in: .production)?.message
                == "Cannot create or modify field 'name' in record 'Note' in production schema. "
                + "Save it in development, then promote development's schema."
        )
    }

    @Test func `The share type is added implicitly, except in strict mode`() throws {
        let save = try fields([("cloudkit.title", "x")])
        for environment in Environment.allCases {
            #expect(
                try growth(save, as: "cloudkit.share", in: environment)
                    == [.recordTypeAdded(.share)]
            )
        }
        var strict = SchemaGrowth(in: .production)
        strict.addsShareType = false
        #expect(throws: SyncError.newRecordType("cloudkit.share")) {
            try strict.changes(of: schema, saving: save, as: "cloudkit.share")
        }
        strict.environment = .development
        #expect(
            try strict.changes(of: schema, saving: save, as: "cloudkit.share")
                == [.recordTypeAdded(.share)]
        )
    }

    @Test(arguments: Environment.allCases)
    func `A value of another type is rejected everywhere`(_ environment: Environment) throws {
        #expect(
            refusal(try fields([("title", 1)]), in: environment)?.message
                == "invalid attempt to set value type INT64 for field 'title' for type 'Note', "
                + "defined to be: STRING. A field keeps the type of its first value; save a value "
                + "of that type, or use another field."
        )
        #expect(
            refusal(try fields([("count", .int64List([]))]), in: environment)?.message
                == "invalid attempt to set value type INT64_LIST for field 'count' for type 'Note', "
                + "defined to be: INT64. A field keeps the type of its first value; save a value "
                + "of that type, or use another field."
        )
        #expect(
            refusal(try fields([("secret", "x")]), in: environment)?.message
                == "invalid attempt to set value type STRING for field 'secret' for type 'Note', "
                + "defined to be: ENCRYPTED_STRING. A field keeps the type of its first value; save "
                + "a value of that type, or use another field."
        )
        #expect(
            refusal(try fields([], encrypted: [("title", "x")]), in: environment)?.message
                == "Attempt to save encrypted data in non encrypted field type: field 'title' for "
                + "type 'Note' is defined to be: STRING. Only new fields can be encrypted."
        )
        #expect(
            refusal(try fields([("size", "x")]), in: environment)?.code == .invalidArguments
        )
    }

    @Test func `The public database rejects encrypted fields`() throws {
        let save = try fields([], encrypted: [("secret", "x")])
        #expect(
            refusal(save, scope: .public)?.message
                == "encrypted fields are not supported in the public database: field 'secret' for "
                + "type 'Note'."
        )
        #expect(!RecordChecks(schema).admit(save, as: "Note", in: .public))
        #expect(RecordChecks(schema).admit(save, as: "Note", in: .shared))
    }

    @Test func `Types that cannot be encrypted are rejected`() throws {
        let link = FieldValue.reference(Reference(recordName: "r"))
        #expect(
            refusal(try fields([], encrypted: [("link", link)]))?.message
                == "Field 'link' for type 'Note' is REFERENCE and cannot be encrypted: assets "
                + "always are encrypted, and the store must read references."
        )
    }

    @Test func `Names and numbers of types and fields are limited`() throws {
        let save = try fields([("a", 1), ("b", 1)])
        #expect(refusal(save, as: "_Task")?.code == .invalidArguments)
        #expect(
            refusal(save, as: "cloudkit.task")?.message
                == "The record type \"cloudkit.task\" is reserved for the system; choose another "
                + "name."
        )
        #expect(
            refusal(try fields([("cloudkit.a", 1)]))?.message
                == "The field \"cloudkit.a\" is reserved for the system; choose another name."
        )
        let unnamed = try #require(refusal(try fields([("1a", 1)])))
        #expect(unnamed.message.hasPrefix("The field name \"1a\" must be 1 to "))
        var limits = Limits()
        limits.recordTypesPerSchema = 2
        limits.fieldsPerRecordType = 8
        #expect(
            refusal(save, as: "Task", limits: limits)?.message
                == "The record type Task cannot be added: the schema has 2 record types, which is "
                + "the limit."
        )
        #expect(
            refusal(save, limits: limits)?.description
                == "limitExceeded (27): The record type Note would have 9 fields; at most 8 are "
                + "allowed. Split the type, or raise the limit."
        )
    }

    /// The rule in its plainest form: a dictionary.
    private func fits(_ fields: Fields, _ recordType: Schema.RecordType) -> Bool {
        fields.allSatisfy { field in
            guard let type = field.type else { return true }
            return recordType[Name(field.name)]?.type.admits(type, isEncrypted: field.isEncrypted)
                ?? false
        }
    }

    @Test(arguments: 0..<30)
    func `The fast check, the growth and the drift agree`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let schema = Schema.random(using: &generator)
        let checks = RecordChecks(schema)
        for _ in 0..<10 {
            let recordType =
                Bool.random(using: &generator)
                ? schema.recordTypes.randomElement(using: &generator)?.name ?? "Users" : "Other"
            var builder = FieldsBuilder()
            let names = (schema[recordType]?.fields.map(\.name) ?? []) + ["other", "zz", "A"]
            for name in names where Int.random(in: 0..<3, using: &generator) > 0 {
                let declared = schema[recordType]?[name]
                if declared?.isSystem == true { continue }
                let value: FieldValue? =
                    Int.random(in: 0..<8, using: &generator) == 0
                    ? nil : .sample(of: declared?.type, using: &generator)
                let isEncrypted =
                    (declared?.type.isEncrypted ?? false)
                    != (Int.random(in: 0..<20, using: &generator) == 0)
                if isEncrypted, let value, !Schema.DeclaredType.canEncrypt(value.type) { continue }
                try builder.set(name.string, value, isEncrypted: isEncrypted)
            }
            let fields = try builder.finish()
            let isFit = schema[recordType].map { fits(fields, $0) } ?? false
            #expect(checks.admit(fields, as: recordType) == isFit, "seed \(seed)")
            #expect(schema.gaps(saving: fields, as: recordType).isEmpty == isFit)
            let inProduction = try? SchemaGrowth(in: .production)
                .changes(of: schema, saving: fields, as: recordType)
            #expect((inProduction == []) == isFit)
            let grown = try? SchemaGrowth(in: .development)
                .changes(of: schema, saving: fields, as: recordType)
            if let grown {
                let after = schema.applying(grown)
                #expect(RecordChecks(after).admit(fields, as: recordType))
                #expect(after.problems().allSatisfy { $0.severity == .warning })
                #expect(SchemaPlan.promoting(after, to: schema).error == nil)
            } else {
                #expect(!isFit)
            }
        }
    }

    @Test func `A record's body is checked like its fields`() throws {
        let header = RecordHeader(
            recordName: "n",
            recordType: "Note",
            created: Authorship(time: 0, user: nil),
            modified: Authorship(time: 0, user: nil)
        )
        let checks = RecordChecks(schema)
        #expect(checks.admit(RecordBody(header, fields: try Fields(["title": "x"]))))
        #expect(!checks.admit(RecordBody(header, fields: try Fields(["title": 1]))))
        #expect(!checks.admit(RecordBody(header, fields: try Fields(["titles": "x"]))))
        #expect(!checks.admit(RecordBody(header, fields: try Fields(["titl": "x"]))))
    }

    // MARK: Querying

    @Test func `Development adds the indexes that a query needs`() throws {
        let changes = try SchemaGrowth(in: .development).changes(
            of: schema,
            querying: "Note",
            using: [
                .init("title", .queryable), .init("title", .sortable),
                .init("recordID", .queryable), .init("creationDate", .sortable),
                .init(nil, .searchable), .init("parent", .queryable),
            ]
        )
        #expect(
            changes.map(\.description) == [
                "change indexes of Note.___createTime from no index to SORTABLE",
                "change indexes of Note.___recordID from no index to QUERYABLE",
                "change indexes of Note.title from QUERYABLE to QUERYABLE SEARCHABLE SORTABLE",
            ]
        )
    }

    @Test func `Production names the missing index and the command to add it`() throws {
        let growth = SchemaGrowth(in: .production)
        func message(_ key: Query.Key?, _ kind: Query.IndexKind) -> String? {
            do throws(SyncError) {
                _ = try growth.changes(of: schema, querying: "Note", using: [.init(key, kind)])
                return nil
            } catch {
                return "\(error.code): \(error.message)"
            }
        }
        #expect(message("title", .queryable) == nil)
        #expect(
            message("recordID", .queryable)
                == "invalidArguments: Field 'recordName' is not marked queryable. Add the index with "
                + "`tidemark schema index STORE Note.___recordID queryable --environment production`."
        )
        #expect(
            message("title", .sortable)
                == "invalidArguments: Field 'title' is not marked sortable. Add the index with `tidemark "
                + "schema index STORE Note.title sortable --environment production`."
        )
        #expect(
            message(nil, .searchable)?.contains(
                "No field of 'Note' is marked searchable. Add the index with `tidemark schema index STORE "
                    + "Note.FIELD searchable"
            ) == true
        )
        #expect(
            message("other", .queryable)
                == "invalidArguments: Unknown field 'other' for type 'Note'."
        )
    }

    @Test(arguments: Environment.allCases)
    func `A query that no index can serve is rejected`(_ environment: Environment) throws {
        let growth = SchemaGrowth(in: environment)
        #expect(
            throws: SyncError(
                .invalidArguments,
                "Field 'secret' has a value type of ENCRYPTED_STRING and cannot be QUERYABLE: the "
                    + "store cannot read what a client encrypted."
            )
        ) {
            try growth.changes(of: schema, querying: "Note", using: [.init("secret", .queryable)])
        }
        #expect(throws: SyncError.self) {
            try growth.changes(of: schema, querying: "Note", using: [.init("data", .queryable)])
        }
        #expect(throws: SyncError(.unknownItem, "Did not find record type: Nope.")) {
            try growth.changes(of: schema, querying: "Nope", using: [])
        }
    }
}

extension FieldValue {
    /// A value that mostly has a declared type.
    static func sample(
        of declared: Schema.DeclaredType?,
        using generator: inout SeededGenerator
    ) -> FieldValue {
        let other = FieldType.allCases.randomElement(using: &generator) ?? .string
        let isOther = Int.random(in: 0..<12, using: &generator) == 0
        let type: FieldType =
            switch declared {
            case .plain(let type)? where !isOther: type
            case .encrypted(let type)? where !isOther: type
            case .number? where !isOther: Bool.random(using: &generator) ? .int64 : .double
            case .numberList? where !isOther:
                Bool.random(using: &generator) ? .int64List : .doubleList
            default: other
            }
        return switch type {
        case .string: .string("x")
        case .int64: .int64(1)
        case .double: .double(0.5)
        case .bytes: .bytes([1])
        case .timestamp: .timestamp(1)
        case .location: .location(Location(latitude: 1, longitude: 1))
        case .reference: .reference(Reference(recordName: "r"))
        case .asset: .asset(AssetReference(checksum: Array(repeating: 1, count: 32), byteCount: 1))
        case .stringList: .stringList([])
        case .int64List: .int64List([1])
        case .doubleList: .doubleList([])
        case .bytesList: .bytesList([])
        case .timestampList: .timestampList([])
        case .locationList: .locationList([])
        case .referenceList: .referenceList([])
        case .assetList: .assetList([])
        }
    }
}

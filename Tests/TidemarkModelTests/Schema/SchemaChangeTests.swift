// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TidemarkModel

@Suite struct SchemaChangeTests {
    private func read(_ items: String) throws -> Schema {
        try SchemaFile("DEFINE SCHEMA \(items)").schema
    }

    @Test func `A difference is described as a list of changes`() throws {
        let old = try read(
            """
            CREATE ROLE gone; RECORD TYPE Old (a STRING);
            RECORD TYPE Note (title STRING QUERYABLE, count INT64, lost BYTES, "___etag" STRING SORTABLE,
                GRANT READ TO "_world", GRANT WRITE TO gone);
            """
        )
        let new = try read(
            """
            CREATE ROLE editor; RECORD TYPE New (a STRING, b STRING);
            RECORD TYPE Note (title STRING SORTABLE, count DOUBLE, due TIMESTAMP SORTABLE,
                GRANT READ, WRITE TO editor, GRANT READ TO "_world");
            """
        )
        #expect(
            old.changes(to: new).map(\.description) == [
                "add role editor",
                "remove role gone",
                "add record type New with 2 fields",
                "change indexes of Note.___etag from SORTABLE to no index",
                "change field Note.count from INT64 to DOUBLE",
                "add field Note.due TIMESTAMP SORTABLE",
                "remove field Note.lost",
                "change indexes of Note.title from QUERYABLE to SORTABLE",
                "change what editor may do with Note from nothing to READ, WRITE",
                "change what gone may do with Note from WRITE to nothing",
                "remove record type Old",
            ]
        )
    }

    @Test(arguments: 0..<50)
    func `Applying the changes between two schemas gives the second`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<10 {
            let old = Schema.random(using: &generator)
            let new = old.varied(using: &generator)
            let changes = old.changes(to: new)
            #expect(old.applying(changes) == new)
            #expect(new.applying(new.changes(to: old)) == old)
            #expect(new.changes(to: new).isEmpty)
            #expect(changes.isEmpty == (old == new))
            #expect(new.applying(changes) == new, "applying twice is applying once")
            #expect(Schema().applying(Schema().changes(to: new)) == new)
        }
    }

    @Test func `A change of a missing element does nothing`() {
        let changes: [SchemaChange] = [
            .roleRemoved(Schema.Role("r")), .recordTypeRemoved("A"), .fieldRemoved("A", "b"),
            .fieldAdded("A", Schema.Field("b", .plain(.string))),
            .indexesChanged("Users", "b", from: [], to: .queryable),
            .fieldTypeChanged("A", "b", from: .number, to: .plain(.int64)),
            .permissionsChanged("A", .world, from: [], to: .read),
            .recordTypeRemoved("Users"), .fieldRemoved("Users", "___etag"),
            .fieldTypeChanged("Users", "___etag", from: .number, to: .plain(.int64)),
        ]
        #expect(Schema().applying(changes) == Schema())
    }

    // MARK: Importing and promoting

    private func refusals(_ plan: SchemaPlan) -> [String] { plan.refusals.map(\.message) }

    @Test func `The production schema only grows`() throws {
        let production = try read(
            "CREATE ROLE r; RECORD TYPE A (x STRING QUERYABLE, n NUMBER, GRANT READ TO r); RECORD "
                + "TYPE B ();"
        )
        let grown = try read(
            "RECORD TYPE A (x STRING SORTABLE, n INT64, y ASSET); RECORD TYPE B (); RECORD TYPE C ();"
        )
        let plan = SchemaPlan.promoting(grown, to: production)
        #expect(plan.error == nil)
        #expect(plan.problems.isEmpty)
        #expect(production.applying(plan.changes) == grown)

        let shrunk = try read("RECORD TYPE A (x INT64, m NUMBER);")
        let refused = SchemaPlan.promoting(shrunk, to: production)
        #expect(
            refusals(refused) == [
                "The field A.n is missing, but production has it.",
                "The field A.x is STRING in production and would become INT64.",
                "The record type B is missing, but production has it.",
            ]
        )
        #expect(
            refused.error?.description
                == "invalidArguments (12): The schema was not changed. The field A.n is missing, "
                + "but production has it. Production only grows: add it to development's "
                + "schema, then promote again. The field A.x is STRING in production and would "
                + "become INT64. A field keeps its type: use a field of another name for the "
                + "new type. The record type B is missing, but production has it. Production "
                + "only grows: add it to development's schema, then promote again. Correct the "
                + "request; repeating it as it is does not help."
        )
    }

    @Test func `A number type that was decided does not change`() throws {
        let settled = try read("RECORD TYPE A (n INT64, l LIST<DOUBLE>);")
        let open = try read("RECORD TYPE A (n NUMBER, l LIST<NUMBER>);")
        #expect(SchemaPlan.promoting(settled, to: open).error == nil)
        #expect(
            refusals(SchemaPlan.promoting(open, to: settled)) == [
                "The field A.l is LIST<DOUBLE> in production and would become LIST<NUMBER>.",
                "The field A.n is INT64 in production and would become NUMBER.",
            ]
        )
    }

    @Test func `An import may remove what production does not have`() throws {
        let production = try read("RECORD TYPE A (x STRING);")
        let development = try read("RECORD TYPE A (x STRING, y INT64, z ASSET); RECORD TYPE D ();")
        let file = try read("CREATE ROLE r; RECORD TYPE A (x STRING, y INT64 SORTABLE);")
        let plan = SchemaPlan.importing(file, into: development, production: production)
        #expect(plan.error == nil)
        #expect(
            plan.changes.map(\.description) == [
                "add role r", "change indexes of A.y from no index to SORTABLE", "remove field A.z",
                "remove record type D",
            ]
        )
    }

    @Test func `An import may not remove what production has, nor change a type`() throws {
        let production = try read("RECORD TYPE A (x STRING, w STRING); RECORD TYPE B ();")
        let development = try read(
            "RECORD TYPE A (x STRING, w STRING, y INT64); RECORD TYPE B ();"
        )
        let file = try read("RECORD TYPE A (x ENCRYPTED STRING, y DOUBLE, q ASSET QUERYABLE);")
        #expect(
            refusals(SchemaPlan.importing(file, into: development, production: production)) == [
                "The field A.q of type ASSET cannot be QUERYABLE: an asset's bytes are not part of "
                    + "the record.",
                "The field A.w is missing, but production has it.",
                "The field A.x is STRING in production and would become ENCRYPTED STRING.",
                "The record type B is missing, but production has it.",
                "The field A.y is INT64 in development and would become DOUBLE.",
            ]
        )
    }

    @Test(arguments: 0..<30)
    func `A promotion never changes or removes a field of production`(
        _ seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let production = Schema.random(using: &generator)
        let plan = SchemaPlan.promoting(production.varied(using: &generator), to: production)
        let after = plan.error == nil ? production.applying(plan.changes) : production
        for recordType in production.recordTypes {
            let kept = try #require(after[recordType.name])
            for field in recordType.fields {
                let type = try #require(kept[field.name]?.type)
                #expect(field.type.canBecome(type))
            }
        }
        // Growing alone is always allowed.
        var grown = production
        for index in 0..<3 {
            var type = Schema.RecordType("Grown")
            type.set(.random(Name("f\(index)"), using: &generator))
            grown.set(type)
        }
        #expect(SchemaPlan.promoting(grown, to: production).error == nil)
    }
}

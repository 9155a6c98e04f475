// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

@Suite struct EncryptedFieldTests {
    let folder: ScratchFolder
    let store: Store
    let anna: Client
    /// What a client made of a text, for all that a store knows.
    static let ciphertext = FieldValue.bytes([0x93, 0x00, 0xFF, 0x5A])

    init() async throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating)
        anna = Client(store: store)
        try await anna.createZone()
    }

    private func save(
        _ name: String = "a",
        plain: [(String, FieldValue?)] = [],
        encrypted: [(String, FieldValue)] = [("secret", ciphertext)],
        as client: Client? = nil,
        tag: RecordChangeTag? = nil,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) async throws -> Result<Record, SyncError> {
        let client = client ?? anna
        var builder = FieldsBuilder()
        for (name, value) in plain { try builder.set(name, value) }
        for (name, value) in encrypted { try builder.set(name, value, isEncrypted: true) }
        let save = RecordSave(
            client.id(name),
            type: "Note",
            fields: try builder.finish(),
            changeTag: tag,
            policy: policy
        )
        return try await client.modify([save]).saves[0]
    }

    private func isSealed(_ record: Record) throws -> Bool {
        let index = try #require(record.fields.index(of: "secret"))
        return record.fields[index].isEncrypted && record["secret"] == Self.ciphertext
    }

    @Test func `Ciphertext is returned unchanged by every call`() async throws {
        let start = try await anna.changes().token
        let saved = try await save(plain: [("n", 1)]).get()
        #expect(try isSealed(saved))
        #expect(try isSealed(try await anna.fetch("a")[0].get()))
        // A version that says nothing of the field keeps it, sealed.
        let next = try await anna.put("a", ["n": 2], tag: saved.changeTag)
        #expect(try isSealed(next))
        let late = try await anna.modify([try anna.save("a", ["n": 3], tag: saved.changeTag)])
            .saves[0].error
        let conflict = try #require(late?.conflict)
        for record in [conflict.server, try #require(conflict.ancestor), conflict.client] {
            #expect(try isSealed(record))
        }
        guard case .changed(let told)? = try await anna.changes(since: start).changes.first else {
            Issue.record("the delta does not tell of the record")
            return
        }
        #expect(try isSealed(told))
        try store.close()
        let again = try Store.open(at: folder.path())
        let reader = Client(store: again)
        #expect(try isSealed(try await reader.fetch("a")[0].get()))
        try again.close()
    }

    @Test func `Ciphertext stays encrypted in an export and an import`() async throws {
        _ = try await save().get()
        let copy = try Store.open(at: folder.path("copy.tide"), access: .creating)
        let lines = try store.commits()
        try await copy.importLines(lines)
        let reader = Client(store: copy, caller: anna.caller)
        #expect(try isSealed(try await reader.fetch("a")[0].get()))
        #expect(try copy.schema()["Note"]?["secret"]?.type == .encrypted(.bytes))
        try copy.close()
    }

    @Test func `Encrypted fields merge like other fields`() async throws {
        let first = try await save(plain: [("n", 1)]).get()
        _ = try await save(tag: first.changeTag).get()
        let other = try anna.save("a", ["n": 2], tag: first.changeTag, policy: .merge)
        #expect(try isSealed(try await anna.modify([other]).saves[0].get()))
        let same = try await save(tag: first.changeTag, policy: .merge).error
        #expect(same?.code == .serverRecordChanged)
    }

    @Test func `A plain field rejects an encrypted value`() async throws {
        _ = try await save("a", plain: [("secret", "open")], encrypted: []).get()
        let error = try await save("b").error
        #expect(error?.code == .invalidArguments)
        #expect(
            error?.message.hasPrefix("Attempt to save encrypted data in non encrypted field type")
                == true
        )
    }

    @Test func `An encrypted field rejects a plain value`() async throws {
        _ = try await save("a").get()
        let error = try await save("b", plain: [("secret", .bytes([1]))], encrypted: []).error
        #expect(error?.code == .invalidArguments)
        #expect(
            error?.message.hasPrefix(
                "invalid attempt to set value type BYTES for field 'secret' for type 'Note', "
                    + "defined to be: ENCRYPTED_BYTES"
            ) == true
        )
        #expect(try await anna.fetch("b")[0].error?.code == .unknownItem)
    }

    @Test func `An encrypted field is removed like any other`() async throws {
        let first = try await save(plain: [("n", 1)]).get()
        let saved = try await save(plain: [("secret", nil)], encrypted: [], tag: first.changeTag)
        #expect(try saved.get()["secret"] == nil)
        #expect(try await save("b").error == nil)
    }

    @Test func `An encrypted field has no index, and a query of it is rejected`() async throws {
        _ = try await save().get()
        let schema = try store.schema()
        #expect(schema["Note"]?["secret"]?.indexes == [])
        for predicate in ["secret == 'x'", "secret != nil", "secret BEGINSWITH 'x'"] {
            #expect(
                try await anna.refusal(of: predicate)?.code == .invalidArguments,
                "\(predicate)"
            )
        }
        #expect(try await anna.find("TRUEPREDICATE") == ["a"])
        for kind in Query.IndexKind.allCases {
            let error = #expect(throws: SyncError.self) {
                try SchemaGrowth(in: .development)
                    .changes(of: schema, querying: "Note", using: [.init("secret", kind)])
            }
            #expect(error?.code == .invalidArguments)
            #expect(error?.message.contains("a client encrypted") == true)
        }
    }

    /// Stores that check schemas, and those that do not.
    @Test(arguments: [true, false])
    func `The public database rejects encrypted fields`(checksSchema: Bool) async throws {
        var options = StoreOptions()
        options.checksSchema = checksSchema
        let store = try Store.open(at: folder.path("b.tide"), access: .creating, options: options)
        var client = Client(store: store, zone: .default)
        client.caller.database = DatabaseID(scope: .public)
        let error = try await save(as: client).error
        #expect(error?.code == .invalidArguments)
        #expect(
            error?.message.hasPrefix("encrypted fields are not supported in the public database")
                == true
        )
        try store.close()
    }

    @Test(arguments: [true, false])
    func `References and assets cannot be encrypted`(checksSchema: Bool) async throws {
        var options = StoreOptions()
        options.checksSchema = checksSchema
        let store = try Store.open(at: folder.path("b.tide"), access: .creating, options: options)
        let client = Client(store: store, zone: .default)
        let blob = AssetReference(checksum: [UInt8](repeating: 1, count: 32), byteCount: 1)
        let link = Reference(recordName: "x")
        for value in [
            FieldValue.asset(blob), .assetList([blob]), .reference(link), .referenceList([link]),
        ] {
            let error = try await save(encrypted: [("secret", value)], as: client).error
            #expect(error?.code == .invalidArguments)
            #expect(error?.message.contains("cannot be encrypted") == true)
        }
        try store.close()
    }

    @Test func `An import rejects what a save cannot store`() async throws {
        var builder = FieldsBuilder()
        try builder.set("secret", Self.ciphertext, isEncrypted: true)
        let line = ChangeStreamLine(
            time: 1,
            user: UserID("_anna"),
            database: DatabaseID(scope: .public),
            changes: [
                .save(
                    recordID: RecordID(recordName: "a"),
                    recordType: "Note",
                    fields: try builder.finish()
                )
            ]
        )
        var changes = try store.beginImport()
        let error = await #expect(throws: SyncError.self) { _ = try await changes.add(line) }
        #expect(error?.message.contains("not supported in the public database") == true)
    }
}

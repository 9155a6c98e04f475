// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct LimitsTests {
    private let limits = Limits()

    private func refusal(_ check: () throws(SyncError) -> Void) -> SyncError? {
        do throws(SyncError) {
            try check()
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "common/alias.md", "é", "e\u{301}", "🌊", " ", "_0123", "a\nb",
        String(repeating: "x", count: 255),
    ])
    func `Any text can be a record name`(name: String) {
        #expect(refusal { () throws(SyncError) in try limits.check(recordName: Name(name)) } == nil)
    }

    @Test(arguments: [
        ("", "has 0 bytes; 1 to 255 are allowed"),
        ("a\0b", "holds a NUL character; leave it out"),
        (String(repeating: "é", count: 128), "has 256 bytes; 1 to 255 are allowed"),
    ])
    func `The error for an invalid record name has the rule`(name: String, rule: String) {
        let error = refusal { () throws(SyncError) in try limits.check(recordName: Name(name)) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.message == "The record name \"\(name)\" \(rule).")
    }

    @Test func `A NUL is found at every place of a name, and nothing else is taken for one`() {
        for character in ["a", "\u{1}", "\u{7F}", "\u{80}", "é"] {
            for count in 1...20 {
                let text = String(repeating: character, count: count)
                let bytes = Array(text.utf8)
                #expect(
                    refusal { () throws(SyncError) in try limits.check(recordName: Name(text)) }
                        == nil
                )
                for place in 0...bytes.count {
                    var name = bytes
                    name.insert(0, at: place)
                    let isFound = name.withUnsafeBytes { ByteEquality.containsZero($0) }
                    #expect(isFound)
                }
            }
        }
    }

    @Test func `The error for a name that is far too long contains its beginning`() {
        let name = Name(String(repeating: "né", count: 20_000))
        let error = refusal { () throws(SyncError) in try limits.check(recordName: name) }
        let beginning = String(repeating: "né", count: 30)
        #expect(
            error?.message
                == "The record name \"\(beginning)…\" has 60000 bytes; 1 to 255 are allowed."
        )
    }

    @Test func `Names can be limited to ASCII`() {
        var strict = Limits()
        strict.requiresASCIINames = true
        #expect(refusal { () throws(SyncError) in try strict.check(recordName: "e") } == nil)
        #expect(refusal { () throws(SyncError) in try strict.check(recordName: "é") } != nil)
        let zone = ZoneID(zoneName: "é")
        #expect(refusal { () throws(SyncError) in try strict.check(zone: zone) } != nil)
    }

    @Test func `Only the default zone's name begins with an underscore`() {
        #expect(refusal { () throws(SyncError) in try limits.check(zone: .default) } == nil)
        let zone = ZoneID(zoneName: "_mine")
        let error = refusal { () throws(SyncError) in try limits.check(zone: zone) }
        #expect(
            error?.message
                == "The zone name \"_mine\" begins with an underscore, which is reserved for the "
                + "system; choose another name."
        )
    }

    @Test func `Fields of a schema are surely allowed if no limit could refuse them`() throws {
        let fields = try Fields(["n": 1])
        var limits = Limits()
        #expect(limits.allow(admitted: fields))
        limits.identifierByteCount = 254
        #expect(!limits.allow(admitted: fields))
        limits = Limits()
        limits.elementsPerList = fields.bytes.count - 1
        #expect(!limits.allow(admitted: fields))
    }

    @Test func `Type and field names must be identifiers`() {
        for name in ["Note", "a1_b", "cloudkit.share", "A"] {
            let type = Name(name)
            let bytes = Array(name.utf8)[...]
            #expect(refusal { () throws(SyncError) in try limits.check(recordType: type) } == nil)
            #expect(refusal { () throws(SyncError) in try limits.check(fieldName: bytes) } == nil)
        }
        for name in ["", "1a", "_a", "a b", "é", "a-b", ".a", String(repeating: "a", count: 256)] {
            let type = Name(name)
            let bytes = Array(name.utf8)[...]
            #expect(refusal { () throws(SyncError) in try limits.check(recordType: type) } != nil)
            #expect(refusal { () throws(SyncError) in try limits.check(fieldName: bytes) } != nil)
        }
    }

    @Test func `Limits are capped at those of the format`() {
        var loose = Limits()
        loose.fieldsPerRecord = .max
        loose.bytesPerRecord = .max
        loose.nameByteCount = .max
        loose.identifierByteCount = .max
        #expect(loose.fieldsPerRecord == 32_640)
        #expect(loose.bytesPerRecord == 1 << 30)
        loose.subscriptionIDByteCount = .max
        #expect(loose.subscriptionIDByteCount == 32_767)
        let wide = String(repeating: "z", count: 1_000)
        for (name, isAllowed) in [(wide, true), (wide + "z", false)] {
            let zone = ZoneID(zoneName: name)
            let container = Caller(database: DatabaseID(container: ContainerID(name)))
            let refused = refusal { () throws(SyncError) in try loose.check(zone: zone) }
            #expect((refused == nil) == isAllowed)
            for caller in [Caller(user: UserID(name)), container] {
                #expect(
                    (refusal { () throws(SyncError) in try loose.check(caller) } == nil)
                        == isAllowed
                )
            }
        }
        let name = Name(String(repeating: "a", count: 65_536))
        #expect(refusal { () throws(SyncError) in try loose.check(recordName: name) } != nil)
        let type = Name(String(repeating: "a", count: 256))
        #expect(refusal { () throws(SyncError) in try loose.check(recordType: type) } != nil)
    }

    @Test func `A caller's texts must be within the limits`() {
        let long = String(repeating: "x", count: 256)
        #expect(refusal { () throws(SyncError) in try limits.check(Caller()) } == nil)
        for caller in [
            Caller(user: UserID("")), Caller(user: UserID(long)), Caller(device: long),
            Caller(build: ""), Caller(requestID: long),
        ] {
            #expect(refusal { () throws(SyncError) in try limits.check(caller) } != nil)
        }
    }

    @Test func `A caller's user is checked also in a database that is not the user's own`() {
        for database in [DatabaseID(scope: .public), DatabaseID(owner: "_anna")] {
            let caller = Caller(database: database, user: "_bert")
            #expect(refusal { () throws(SyncError) in try limits.check(caller) } == nil)
            for name in ["", "a\0b", String(repeating: "x", count: 256)] {
                let caller = Caller(database: database, user: UserID(name))
                let error = refusal { () throws(SyncError) in try limits.check(caller) }
                #expect(error?.message.hasPrefix("The user \"\(name)\" ") == true)
            }
        }
    }

    @Test func `Too many fields are an error of the save, not of setting a field`() throws {
        var builder = FieldsBuilder()
        for number in 0..<Int(UInt16.max) { try builder.set("f\(number)", .int64(1)) }
        var fields = try builder.finish()
        let value: Int? = 2
        fields["f7"] = value
        #expect(fields.count == Int(UInt16.max))
        fields["more"] = value
        let error = #expect(throws: SyncError.self) { try Limits().check(fields) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.contains("at most 65,535 fields") == true)
    }

    @Test(arguments: [
        FieldValue.double(.nan), .double(.infinity), .doubleList([0, -.infinity]),
        .location(Location(latitude: 90.1, longitude: 0)),
        .location(Location(latitude: 0, longitude: .nan)),
        .location(Location(latitude: 0, longitude: 0, speed: .infinity)),
        .reference(Reference(recordName: "")), .asset(AssetReference(checksum: [1], byteCount: 1)),
    ])
    func `Values that cannot be stored are rejected with the field's name`(value: FieldValue) {
        let error = #expect(throws: SyncError.self) { try Fields(["broken": value]) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.hasPrefix("The field \"broken\" ") == true)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

/// One value of every type, with the odd ones of each.
let sampleValues: [(String, FieldValue)] = [
    ("string", .string("e\u{301}, \u{1F30A}\u{0}")),
    ("emptyString", .string("")),
    ("int64", .int64(.min)),
    ("double", .double(-0.0)),
    ("bytes", .bytes([0, 255, 128])),
    ("timestamp", .timestamp(-1)),
    ("location", .location(Location(latitude: 90, longitude: -180))),
    (
        "fullLocation",
        .location(
            Location(
                latitude: -33.9,
                longitude: 151.2,
                horizontalAccuracy: -1,
                verticalAccuracy: 2,
                altitude: 3.5,
                speed: 4,
                course: 359,
                timestamp: 1_393_936_109_000
            )
        )
    ),
    ("reference", .reference(Reference(recordName: "é", action: .deleteSelf))),
    (
        "farReference",
        .reference(
            Reference(recordName: "a/b", zone: ZoneID(zoneName: "z"), action: .validate)
        )
    ),
    ("asset", .asset(AssetReference(checksum: Array(0..<32), byteCount: 1 << 40))),
    (
        "keyedAsset",
        .asset(
            AssetReference(
                checksum: Array(repeating: 7, count: 32),
                byteCount: 0,
                referenceChecksum: [],
                wrappingKey: [1, 2]
            )
        )
    ),
    ("stringList", .stringList(["", "a", "e\u{301}"])),
    ("int64List", .int64List([.min, 0, .max])),
    ("doubleList", .doubleList([0.1, -.leastNonzeroMagnitude])),
    ("bytesList", .bytesList([[], [1, 2, 3]])),
    ("timestampList", .timestampList([0, 1])),
    ("locationList", .locationList([Location(latitude: 1, longitude: 2, course: 3)])),
    ("referenceList", .referenceList([Reference(recordName: "x"), Reference(recordName: "y")])),
    (
        "assetList",
        .assetList([AssetReference(checksum: Array(repeating: 9, count: 32), byteCount: 3)])
    ),
    ("emptyStringList", .stringList([])),
    ("emptyInt64List", .int64List([])),
    ("emptyDoubleList", .doubleList([])),
    ("emptyBytesList", .bytesList([])),
    ("emptyTimestampList", .timestampList([])),
    ("emptyLocationList", .locationList([])),
    ("emptyReferenceList", .referenceList([])),
    ("emptyAssetList", .assetList([])),
]

func fields(_ pairs: [(String, FieldValue?)]) throws -> Fields {
    var builder = FieldsBuilder()
    for (name, value) in pairs { try builder.set(name, value) }
    return try builder.finish()
}

@Suite struct FieldsTests {
    @Test func `Every type round-trips`() throws {
        #expect(Set(sampleValues.map(\.1.type)) == Set(FieldType.allCases))
        let fields = try fields(sampleValues.map { ($0.0, $0.1) })
        #expect(fields.count == sampleValues.count)
        for (name, value) in sampleValues {
            #expect(fields[name] == value)
        }
        #expect(try Fields(validating: fields.bytes) == fields)
    }

    @Test func `The order in which fields are set does not matter`() throws {
        let forward = try fields(sampleValues.map { ($0.0, $0.1) })
        let backward = try fields(sampleValues.reversed().map { ($0.0, $0.1) })
        #expect(forward == backward)
        let names = forward.map(\.name)
        #expect(names == names.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
    }

    @Test func `A field that is set twice is rejected`() throws {
        let error = #expect(throws: SyncError.self) { try fields([("b", 1), ("a", 1), ("b", 2)]) }
        #expect(error?.code == .invalidArguments)
        #expect(error?.message == "The field \"b\" is given twice; keep one of them.")
    }

    @Test func `A field that is refused leaves the others as they are`() throws {
        var builder = FieldsBuilder()
        try builder.set("a", 1)
        for name in ["", String(repeating: "n", count: 256)] {
            #expect(throws: SyncError.self) { try builder.set(name, "refused") }
        }
        try builder.set("b", "kept")
        let built = try builder.finish()
        #expect(try built == fields([("a", 1), ("b", "kept")]))
        #expect(try Fields(validating: built.bytes) == built)
    }

    @Test func `Fields that are made have the traits that their rows have`() throws {
        for (name, value) in sampleValues {
            for isEncrypted in [false, true] {
                var builder = FieldsBuilder()
                try builder.set("a", 1)
                try builder.set(name, value, isEncrypted: isEncrypted)
                let fields = try builder.finish()
                #expect(fields.knownTraits == Fields(sound: fields.bytes).traits)
                let isLink = value.type == .reference || value.type == .referenceList
                #expect(fields.hasReferences == isLink)
                let isAsset = value.type == .asset || value.type == .assetList
                #expect(fields.namesAssets == isAsset)
                #expect(fields.mayHave(.references) == isLink)
                #expect(fields.mayHave(.assets) == isAsset)
                #expect(Fields(sound: fields.bytes).mayHave(.stamps))
                #expect(fields.hasEncrypted == isEncrypted)
                #expect(!fields.traits.contains(.removals))
            }
        }
        let removal = try fields([("a", nil)])
        #expect(removal.knownTraits == .removals)
        #expect(Fields(sound: removal.bytes).traits == .removals)
        #expect(Fields().traits == [])
    }
}

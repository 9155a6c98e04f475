// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

struct RecordFieldTests {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n1"))

    @Test func `An empty array without a type gives its field no type`() async throws {
        let database = TidemarkDevice(.temporary(), user: "anna").container().privateCloudDatabase
        let note = CKRecord(recordType: "Note")
        note["links"] = NSArray()
        let other: [Any] = []
        note["counts"] = other as any CKRecordValue
        note["texts"] = [String]()
        let saved = try await database.save(note)
        let read = try await database.record(for: note.recordID)
        #expect(read["links"] == nil && read["counts"] == nil)
        #expect((read["texts"] as? [String])?.isEmpty == true)
        saved["links"] = [CKRecord.Reference(recordID: note.recordID, action: .none)]
        saved["counts"] = [7]
        _ = try await database.save(saved)
        // An empty array of such a field is still one of its type.
        saved["counts"] = NSArray()
        _ = try await database.save(saved)
        let last = try await database.record(for: note.recordID)
        #expect((last["links"] as? [CKRecord.Reference])?.count == 1)
        #expect((last["counts"] as? [Int])?.isEmpty == true)
    }

    @Test func `Swift values are returned as they were set`() {
        record["text"] = "Milk"
        record["count"] = 3
        record["small"] = Int8(-4)
        record["large"] = UInt64.max
        record["ratio"] = 2.5
        record["float"] = Float(0.1)
        record["done"] = true
        let date = Date(timeIntervalSince1970: 1_767_225_600.25)
        record["date"] = date
        record["data"] = Data([1, 2, 3])
        record["tags"] = ["a", "b"]
        record["counts"] = [1, 2]
        record["dates"] = [date]

        #expect(record["text"] as? String == "Milk")
        #expect(record["count"] as? Int == 3)
        #expect(record["count"] as? Int64 == 3)
        #expect(record["count"] as? Double == 3)
        #expect(record["small"] as? Int8 == -4)
        #expect(record["large"] as? UInt64 == UInt64.max)
        #expect(record["ratio"] as? Double == 2.5)
        #expect(record["float"] as? Float == 0.1)
        #expect(record["done"] as? Bool == true)
        #expect(record["done"] as? Int == 1)
        #expect(record["date"] as? Date == date)
        #expect(record["data"] as? Data == Data([1, 2, 3]))
        #expect(record["tags"] as? [String] == ["a", "b"])
        #expect(record["counts"] as? [Int] == [1, 2])
        #expect(record["counts"] as? [Int64] == [1, 2])
        #expect(record["dates"] as? [Date] == [date])
        #expect(record["missing"] == nil)
    }

    @Test func `An empty list has the type of its elements, or of those before`() async throws {
        let database = TidemarkDevice(TidemarkCloud.temporary()).container().privateCloudDatabase
        let lists: [(any CKRecordValueProtocol, any CKRecordValueProtocol)] = [
            ([Bool](), [true]), ([NSDate](), [NSDate()]), ([NSData](), [NSData(data: Data([1]))]),
        ]
        for (number, (empty, full)) in lists.enumerated() {
            var note = CKRecord(recordType: "Note")
            note["list\(number)"] = empty
            note = try await database.save(note)
            note["list\(number)"] = full
            note = try await database.save(note)
        }
        // Local values have no type yet. An empty array of Foundation's takes that of the elements before.
        var note = CKRecord(recordType: "Note")
        note["counts"] = [1, 2]
        note["ratios"] = [1, 2.5]
        note["counts"] = NSArray()
        note["ratios"] = NSArray()
        note = try await database.save(note)
        note["counts"] = [3]
        note["ratios"] = [3.5]
        note = try await database.save(note)
        #expect(note["counts"] as? [Int] == [3])
    }

    @Test func `Foundation objects are returned as objects and as Swift values`() {
        record.setObject("Milk" as NSString, forKey: "text")
        record.setObject(NSNumber(value: 3), forKey: "count")
        record.setObject(NSNumber(value: 2.5), forKey: "ratio")
        record["date"] = NSDate(timeIntervalSince1970: 5)
        record["data"] = NSData(data: Data([7]))
        record["tags"] = NSArray(array: ["a", "b"])

        #expect(record.object(forKey: "text") as? NSString == "Milk")
        #expect(record["text"] as? String == "Milk")
        #expect(record["count"] as? NSNumber == 3)
        #expect(record["count"] as? Int == 3)
        #expect(record["ratio"] as? Double == 2.5)
        #expect(record["date"] as? Date == Date(timeIntervalSince1970: 5))
        #expect(record["date"] as? NSDate == NSDate(timeIntervalSince1970: 5))
        #expect(record["data"] as? Data == Data([7]))
        #expect(record["tags"] as? NSArray == NSArray(array: ["a", "b"]))
        #expect(record["tags"] as? [String] == ["a", "b"])
    }

    @Test func `References, locations and assets are returned as the same objects`() {
        let reference = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "list"),
            action: .deleteSelf
        )
        let place = CLLocation(latitude: 52.5, longitude: 13.4)
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/picture"))
        record["list"] = reference
        record["lists"] = [reference]
        record["place"] = place
        record["picture"] = asset
        record["pictures"] = [asset, asset]

        #expect(record["list"] as? CKRecord.Reference === reference)
        #expect(record["lists"] as? [CKRecord.Reference] == [reference])
        #expect(record["place"] as? CLLocation === place)
        #expect(record["picture"] as? CKAsset === asset)
        #expect((record["pictures"] as? [CKAsset])?.first === asset)
    }

    @Test func `A typed read of a value of another type returns nil`() {
        record["text"] = "Milk"
        record["ratio"] = 2.5
        let text: String? = record["text"]
        let number: Int? = record["text"]
        let whole: Int? = record["ratio"]
        let flag: Bool? = record["ratio"]
        #expect(text == "Milk")
        #expect(number == nil)
        #expect(whole == nil)
        #expect(flag == nil)
    }

    @Test func `Existentials and optionals can be set`() {
        let value: (any CKRecordValue)? = "Milk"
        record["text"] = value
        let protocolValue: any CKRecordValueProtocol = 5
        record["count"] = protocolValue
        let nothing: String? = nil
        record["nothing"] = nothing
        record["cast"] = "x" as any CKRecordValue
        #expect(record["text"] as? String == "Milk")
        #expect(record["count"] as? Int == 5)
        #expect(record["cast"] as? String == "x")
        #expect(record.allKeys().sorted() == ["cast", "count", "text"])
        #expect(record.changedKeys().sorted() == ["cast", "count", "nothing", "text"])
    }

    @Test func `Clearing a field is a change`() {
        record["text"] = "Milk"
        record["text"] = nil
        #expect(record["text"] == nil)
        #expect(record.allKeys().isEmpty)
        #expect(record.changedKeys() == ["text"])
    }

    @Test func `Mutating an object after it was set does not change the record`() {
        let text = NSMutableString(string: "Milk")
        record["text"] = text
        text.append("!")
        let list = NSMutableArray(array: ["a"])
        record["tags"] = list
        list.add("b")
        #expect(record["text"] as? String == "Milk")
        #expect(record["tags"] as? [String] == ["a"])
    }

    @Test func `Encrypted values are separate from other values`() {
        record["text"] = "open"
        record.encryptedValues["secret"] = "hidden"
        record.encryptedValues["number"] = 7
        #expect(record.encryptedValues["secret"] as? String == "hidden")
        let number: Int? = record.encryptedValues["number"]
        #expect(number == 7)
        #expect(record["secret"] == nil)
        #expect(record.encryptedValues["text"] == nil)
        #expect(record.allKeys() == ["text"])
        #expect(record.encryptedValues.allKeys().sorted() == ["number", "secret"])
        #expect(record.encryptedValues.changedKeys().sorted() == ["number", "secret"])
    }

    @Test func `Key-value coding reads and writes fields`() {
        record.setValue("Milk", forKey: "text")
        record.setValue(3, forKey: "count")
        let optional: String? = "x"
        record.setValue(optional as Any, forKey: "optional")
        record.setValuesForKeys(["a": 1, "b": NSNull(), "c": ["x", "y"]])
        record.setParent(CKRecord.ID(recordName: "list"))

        #expect(record.value(forKey: "text") as? String == "Milk")
        #expect(record.value(forKey: "optional") as? String == "x")
        #expect(record.value(forKey: "recordID") as? CKRecord.ID == record.recordID)
        #expect(record.value(forKey: "recordType") as? String == "Note")
        #expect(record.value(forKeyPath: "parent.recordID.recordName") as? String == "list")
        #expect(record.value(forKey: "b") == nil)
        #expect(record.value(forKey: "c") as? [String] == ["x", "y"])
        let values = record.dictionaryWithValues(forKeys: ["text", "b"])
        #expect(values["text"] as? String == "Milk")
        #expect(values["b"] is NSNull)
        record.setValue(nil, forKey: "text")
        #expect(record.value(forKey: "text") == nil)
    }

    @Test func `Iteration returns the fields`() {
        record["b"] = 2
        record["a"] = "x"
        var keys: [String] = []
        for (key, value) in record {
            keys.append(key)
            #expect(record[key] as? NSObject == value as? NSObject)
        }
        #expect(keys == ["a", "b"])
        #expect(record.map(\.0) == ["a", "b"])
    }

    @Test func `allTokens returns the words of all texts`() {
        record["a"] = "Oat milk\nand bread"
        record["b"] = ["two words", "one"]
        record["c"] = 5
        #expect(record.allTokens() == ["Oat", "milk", "and", "bread", "two", "words", "one"])
    }

    @Test func `A parent is a reference without an action`() {
        let list = CKRecord(recordType: "List")
        record.setParent(list)
        #expect(record.parent?.recordID == list.recordID)
        #expect(record.parent?.action == CKRecord.ReferenceAction.none)
        record.setParent(nil as CKRecord?)
        #expect(record.parent == nil)
    }

    @Test func `Copies are independent`() throws {
        record["text"] = "Milk"
        let copy = try #require(record.copy() as? CKRecord)
        copy["text"] = "Bread"
        #expect(copy.recordID == record.recordID)
        #expect(record["text"] as? String == "Milk")
        #expect(copy != record)
    }

    @Test func `IDs with equal names are equal`() {
        let zone = CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName)
        #expect(zone == CKRecordZone.ID(zoneName: "Notes"))
        #expect(CKRecord.ID(recordName: "a", zoneID: zone) != CKRecord.ID(recordName: "a"))
        let names: Set<CKRecord.ID> = [
            CKRecord.ID(recordName: "a"), CKRecord.ID(recordName: "a"),
        ]
        #expect(names.count == 1)
        #expect(CKRecordZone.default().zoneID == .default)
        #expect(CKRecord.ID().recordName.count == 36)
        #expect(["a"].map(CKRecord.ID.init(recordName:)) == [CKRecord.ID(recordName: "a")])
    }

    @Test func `Distances are great-circle distances on Earth`() {
        let berlin = CLLocation(latitude: 52.52, longitude: 13.405)
        let munich = CLLocation(latitude: 48.137, longitude: 11.575)
        #expect(abs(berlin.distance(from: munich) - 504_000) < 1_500)
        #expect(berlin.distance(from: berlin) == 0)
    }
}

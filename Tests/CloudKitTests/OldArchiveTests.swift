// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

/// Archives of records as earlier versions wrote them, and damaged ones of this version.
struct OldArchiveTests {
    private func data(_ text: String) throws -> Data {
        try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters))
    }

    @Test func `A record archived by an earlier version is decoded`() throws {
        let read = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKRecord.self,
                from: try data(Self.record)
            )
        )
        #expect(read.recordType == "Note")
        #expect(read.recordID.recordName == "note-3")
        #expect(read.recordID.zoneID == CKRecordZone.ID(zoneName: "Notes"))
        #expect(read["title"] as? String == "Milk and bread 3")
        #expect(read["text"] as? String == String(repeating: "words ", count: 20))
        #expect(read["count"] as? Int == 3)
        #expect(read["ratio"] as? Double == 0.5)
        #expect(read["date"] as? Date == Date(timeIntervalSinceReferenceDate: 7.8e8))
        #expect(read["tags"] as? [String] == ["a", "b", "c"])
        #expect(read["data"] as? Data == Data(repeating: 7, count: 64))
        #expect((read["list"] as? CKRecord.Reference)?.recordID.recordName == "list")
        #expect(read["done"] as? Bool == true)
        #expect((read["place"] as? CLLocation)?.coordinate.longitude == 2)
        #expect(read.allKeys().count == 10)
        #expect(read.changedKeys().count == 10)
    }

    @Test func `System fields archived by an earlier version are decoded`() throws {
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: try data(Self.systemFields))
        unarchiver.requiresSecureCoding = true
        let read = try #require(CKRecord(coder: unarchiver))
        #expect(read.recordType == "Note")
        #expect(read.recordID.recordName == "note-3")
        #expect(read.allKeys().isEmpty)
    }

    /// The bytes under a key, in an archive of their own.
    private func read(_ bytes: Data) throws -> CKRecord? {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode(bytes.base64EncodedString() as NSString, forKey: "TidemarkRecord")
        archiver.finishEncoding()
        return CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData))
    }

    @Test func `Damaged bytes of a record decode to nil or another record`() throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n1"))
        record["text"] = "Milk"
        record["tags"] = ["a", "b"]
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
        record.setParent(CKRecord.ID(recordName: "list"))
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encode(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        let text = try #require(
            unarchiver.decodeObject(of: NSString.self, forKey: "TidemarkRecord")
        )
        let whole = try #require(Data(base64Encoded: text as String))
        #expect(try read(whole)?["text"] as? String == "Milk")
        #expect(try read(whole + [0]) == nil)
        for count in 0..<whole.count { #expect(try read(whole.prefix(count)) == nil) }
        for place in 0..<whole.count {
            for value in [0, 10, 0x7F, 0xFF] as [UInt8] {
                var damaged = whole
                damaged[place] = value
                let found = try read(damaged)
                #expect(found == nil || place > 0 || value == whole[0])
            }
        }
    }

    @Test func `An archive whose value has another class decodes to nil`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode(NSDate(), forKey: "TidemarkArchive")
        archiver.encode(NSDate(), forKey: "TidemarkRecord")
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        #expect(CKRecord(coder: unarchiver) == nil)
        #expect(CKRecord.ID(coder: unarchiver) == nil)
        #expect(CKServerChangeToken(coder: unarchiver) == nil)
    }

    private static let record = """
        YnBsaXN0MDDUAQIDBAUICRhUJHRvcFgkdmVyc2lvblgkb2JqZWN0c1kkYXJjaGl2ZXLRBgdUcm9vdIABEgABhqCkCgsQ
        EVUkbnVsbNIMDQ4PViRjbGFzc18QD1RpZGVtYXJrQXJjaGl2ZYADgAJPEQQAYnBsaXN0MDDUAQIDBAUGDg9acmVjb3Jk
        VHlwZVhyZWNvcmRJRF8QD2lzUGFyZW50Q2hhbmdlZFZmaWVsZHNUTm90ZdIHCAkKVG5hbWVUem9uZVZub3RlLTPSBwsM
        DVVvd25lclVOb3Rlc18QEF9fZGVmYXVsdE93bmVyX18IqhAaHyMnMjtNUVbUERITFBUWDhlTa2V5VXZhbHVlW2lzRW5j
        cnlwdGVkWWlzQ2hhbmdlZFR0ZXh00RcYVnN0cmluZ18QeHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRz
        IHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdvcmRzIHdv
        cmRzIHdvcmRzIHdvcmRzIAnUERITFBscDhlVY291bnTRHR5XaW50ZWdlchAD1BESExQgIQ4ZVGRhdGXRICIjQcc+7YAA
        AADUERITFCQlDhlVdGl0bGXRFyZfEBBNaWxrIGFuZCBicmVhZCAz1BESExQoKQ4ZVHRhZ3PRKitUbGlzdKMsLjDRFy1R
        YdEXL1Fi0RcxUWPUERITFCozDhnRNDVZcmVmZXJlbmNl0jY3ODpWcmVjb3JkVmFjdGlvbtIHCCo50gcLDA0QANQREhMU
        PD0OGVVwbGFjZdE+P1hsb2NhdGlvbthAQUJDREVGR0hJSkpLS0tMWGxhdGl0dWRlWWxvbmdpdHVkZVhhbHRpdHVkZV8Q
        Emhvcml6b250YWxBY2N1cmFjeV8QEHZlcnRpY2FsQWNjdXJhY3lWY291cnNlVXNwZWVkVHRpbWUjP/AAAAAAAAAjQAAA
        AAAAAAAjAAAAAAAAAAAjv/AAAAAAAAAjQchaED9gjubUERITFE5PDhlUZGF0YdFOUE8QQAcHBwcHBwcHBwcHBwcHBwcH
        BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwfUERITFFJTDhlVcmF0aW/RVFVUcmVh
        bBM/4AAAAAAAANQREhMUV1gOGVRkb25l0R1ZEAEACAARABwAJQA3AD4AQwBIAE0AUgBZAF4AZABqAH0AfgCJAJIAlgCc
        AKgAsgC3ALoAwQE8AT0BRgFMAU8BVwFZAWIBZwFqAXMBfAGCAYUBmAGhAaYBqQGuAbIBtQG3AboBvAG/AcEBygHNAdcB
        3AHjAeoB7wH0AfYB/wIFAggCEQIiAisCNQI+AlMCZgJtAnMCeAKBAooCkwKcAqUCrgKzArYC+QMCAwgDCwMQAxkDIgMn
        AyoAAAAAAAACAQAAAAAAAABaAAAAAAAAAAAAAAAAAAADLNISExQXWCRjbGFzc2VzWiRjbGFzc25hbWWiFRZfEBFDbG91
        ZEtpdC5DS1JlY29yZFhOU09iamVjdF8QEUNsb3VkS2l0LkNLUmVjb3JkXxAPTlNLZXllZEFyY2hpdmVyAAgAEQAWAB8A
        KAAyADUAOgA8AEEARgBMAFEAWABqAGwAbgRyBHcEgASLBI4EogSrBL8AAAAAAAACAQAAAAAAAAAZAAAAAAAAAAAAAAAA
        AAAE0Q==
        """

    private static let systemFields = """
        YnBsaXN0MDDUAQIDBAUICQxUJHRvcFgkdmVyc2lvblgkb2JqZWN0c1kkYXJjaGl2ZXLRBgdfEA9UaWRlbWFya0FyY2hp
        dmWAARIAAYagogoLVSRudWxsTxCjYnBsaXN0MDDTAQIDBAUNWnJlY29yZFR5cGVYcmVjb3JkSURfEA9pc1BhcmVudENo
        YW5nZWRUTm90ZdIGBwgJVG5hbWVUem9uZVZub3RlLTPSBgoLDFVvd25lclVOb3Rlc18QEF9fZGVmYXVsdE93bmVyX18I
        CA8aIzU6P0RJUFVbYXQAAAAAAAABAQAAAAAAAAAOAAAAAAAAAAAAAAAAAAAAdV8QD05TS2V5ZWRBcmNoaXZlcgAIABEA
        FgAfACgAMgA1AEcASQBOAFEAVwD9AAAAAAAAAgEAAAAAAAAADQAAAAAAAAAAAAAAAAAAAQ8=
        """
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

// What programs take from Foundation beside CloudKit, and Foundation on Linux does not have. This file is
// compiled in both language modes.
import CloudKit
import Foundation
import Testing

private func monogram(_ components: PersonNameComponents?) -> String {
    guard let components = components else { return "?" }
    let formatter = PersonNameComponentsFormatter()
    formatter.style = .abbreviated
    return formatter.string(from: components)
}

private func sprite(from record: CKRecord) -> (x: CGFloat, y: CGFloat)? {
    guard let x = record["x"] as? CGFloat, let y = record["y"] as? CGFloat else { return nil }
    return (x, y)
}

@Suite struct FoundationGapTests {
    private func name(_ given: String?, _ family: String?) -> PersonNameComponents {
        var name = PersonNameComponents()
        name.givenName = given
        name.familyName = family
        return name
    }

    @Test func namesOfParticipantsAreWritten() {
        var anna = name("Anna", "Bell")
        anna.namePrefix = "Dr."
        anna.middleName = "Maria"
        anna.nameSuffix = "Jr."
        #expect(anna.formatted() == "Anna Bell")
        #expect(anna.formatted(.name(style: .long)) == "Dr. Anna Maria Bell Jr.")
        #expect(anna.formatted(.name(style: .short)) == "Anna")
        #expect(monogram(anna) == "AB")
        #expect(monogram(nil) == "?")
        #expect(
            PersonNameComponentsFormatter.localizedString(from: anna, style: .default)
                == "Anna Bell"
        )
        anna.nickname = "Annie"
        #expect(anna.formatted(.name(style: .short)) == "Annie")
        #expect(name(nil, "Bell").formatted() == "Bell")
        #expect(name(" ", nil).formatted().isEmpty)
        #expect(name("太郎", "山田").formatted() == "山田太郎")
        #expect(PersonNameComponentsFormatter().string(for: "no name") == nil)
    }

    @Test func numbersOfGraphicsAreReadFromRecords() {
        let record = CKRecord(recordType: "Sprite")
        #expect(sprite(from: record) == nil)
        record["x"] = 2.5
        record["y"] = 3
        #expect(sprite(from: record).map { [$0.x, $0.y] } == [2.5, 3])
        record.setValue(CGFloat(7.25), forKey: "x")
        #expect(record["x"] as? Double == 7.25)
        record["y"] = CGFloat(0.5) as NSNumber
        #expect(record["y"] as? CGFloat == 0.5)
        record["y"] = "text"
        #expect(record["y"] as? CGFloat == nil)
    }

    @Test func valuesOfJSONBecomeFields() throws {
        let text =
            #"{"title": "a", "tags": ["x", "y"], "counts": [1, 2], "none": [], "deep": {"a": 1}}"#
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let dictionary = try #require(object as? [String: Any])
        let record = CKRecord(recordType: "Note")
        for (key, value) in dictionary { record[key] = value as? CKRecordValue }
        #expect(record["title"] as? String == "a")
        #expect(record["tags"] as? [String] == ["x", "y"])
        #expect(record["counts"] as? [Int] == [1, 2])
        #expect(record["none"] as? [String] == [])
        #expect(record["deep"] == nil)
        #expect((["a", "b"] as [Any]) as? CKRecordValue != nil)
    }

    @Test func theTimeToWaitIsAnyKindOfNumber() {
        for seconds in [3 as Any, 3.0, Float(3), NSNumber(value: 3), UInt8(3)] {
            let error = CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: seconds])
            #expect(error.retryAfterSeconds == 3)
            #expect(error.userInfo[CKErrorRetryAfterKey] as? Double == 3)
            #expect(error.userInfo[CKErrorRetryAfterKey] as? Int == 3)
            let object = NSError(
                domain: CKErrorDomain,
                code: CKError.Code.zoneBusy.rawValue,
                userInfo: [CKErrorRetryAfterKey: seconds]
            )
            #expect((object as? CKError)?.retryAfterSeconds == 3)
        }
        let none = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: "soon"])
        #expect(none.retryAfterSeconds == nil)
    }

    @Test func whoIsSignedInHasAToken() throws {
        let device = TidemarkDevice(.temporary(), user: "anna")
        func token() -> (any NSCoding & NSCopying & NSObjectProtocol)? {
            device.run { FileManager.default.ubiquityIdentityToken }
        }
        let anna = try #require(token())
        #expect(token()?.isEqual(anna) == true)
        final class Count: @unchecked Sendable { var value = 0 }
        let count = Count()
        let observer = NotificationCenter.default.addObserver(
            forName: .NSUbiquityIdentityDidChange,
            object: nil,
            queue: nil
        ) { _ in
            // Other tests' devices change too.
            if TidemarkDevice.current === device { count.value += 1 }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        device.signIn("ben")
        #expect(token()?.isEqual(anna) == false)
        device.signOut()
        #expect(token() == nil)
        #expect(count.value == 2)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Code as libraries have it that write records into a database of their own. This file is compiled in
// both language modes.
import CloudKit
import Testing

private protocol Bindable {}

extension Bindable {
    fileprivate var fragment: String { "(\(self))" }
}

extension Int64: Bindable {}
extension Double: Bindable {}
extension String: Bindable {}

extension __CKRecordObjCValue {
    fileprivate var fragment: String {
        if let value = self as? Int64 {
            return value.fragment
        } else if let value = self as? Double {
            return value.fragment
        } else if let value = self as? String {
            return value.fragment
        } else {
            return "?"
        }
    }
}

struct ValueTypeTests {
    @Test func membersOfObjectsAreNotThoseOfNumbers() {
        let record = CKRecord(recordType: "Note")
        record["count"] = 3
        record["text"] = "a"
        record.encryptedValues["secret"] = 0.5
        #expect(record["count"]?.fragment == "(3)")
        #expect(record["text"]?.fragment == "(a)")
        #expect(record.encryptedValues["secret"]?.fragment == "(0.5)")
        #expect(record["none"]?.fragment == nil)
        let value: CKRecordValue? = record["count"]
        #expect(value as? Int == 3)
        let object: __CKRecordObjCValue? = record["count"]
        #expect(object as? Int == 3)
        #expect(("a" as CKRecordValue) as? String == "a")
    }

    @Test func notificationsHaveAName() {
        let notifications: NotificationCenter.Notifications =
            NotificationCenter.default.notifications(named: .CKAccountChanged)
        #expect("\(type(of: notifications))" == "Notifications")
    }
}

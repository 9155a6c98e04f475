// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Code as programs of ten years have it. This file is compiled in both language modes. Foundation comes
// with CloudKit, as it does there.
import CloudKit
import Testing

/// A record kept as programs do that have a database of their own.
private struct StoredRecord {
    var systemFields: Data

    init(_ record: CKRecord) {
        let data = NSMutableData()
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        data.append(archiver.encodedData)
        systemFields = data as Data
    }

    var record: CKRecord? {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else {
            return nil
        }
        unarchiver.requiresSecureCoding = true
        defer { unarchiver.finishDecoding() }
        return CKRecord(coder: unarchiver)
    }
}

private protocol CloudStorable {
    init?(record: CKRecord)
    func toRecord() -> CKRecord
}

private struct Task: CloudStorable {
    var title: String
    var isDone: Bool
    var due: Date?
    var tags: [String]
    var priority: Int

    init(title: String) {
        self.title = title
        isDone = false
        tags = []
        priority = 1
    }

    init?(record: CKRecord) {
        guard let title = record["title"] as? String else { return nil }
        self.title = title
        isDone = record["isDone"] as? Bool ?? false
        due = record.object(forKey: "due") as? Date
        tags = record["tags"] as? [String] ?? []
        priority = (record["priority"] as? NSNumber)?.intValue ?? 0
    }

    func toRecord() -> CKRecord {
        let zoneID = CKRecordZone.ID(zoneName: "Tasks", ownerName: CKCurrentUserDefaultName)
        let id = CKRecord.ID(recordName: title, zoneID: zoneID)
        let record = CKRecord(recordType: "Task", recordID: id)
        record["title"] = title as CKRecordValue
        record["isDone"] = isDone as CKRecordValue
        record.setObject(due as CKRecordValue?, forKey: "due")
        record.setValue(tags, forKey: "tags")
        record["priority"] = NSNumber(value: priority)
        return record
    }
}

struct OldCodeTests {
    @Test func `A value round-trips through a record`() throws {
        var task = Task(title: "Milk")
        task.isDone = true
        task.due = Date(timeIntervalSince1970: 5)
        task.tags = ["a"]
        task.priority = 4
        let record = task.toRecord()
        let read = try #require(Task(record: record))
        #expect(read.title == "Milk")
        #expect(read.isDone)
        #expect(read.due == task.due)
        #expect(read.tags == ["a"])
        #expect(read.priority == 4)
        let stored = StoredRecord(record).record
        #expect(stored?.recordID == record.recordID)
        #expect(stored?["title"] == nil)
    }

    @Test func `Swift 3 names exist`() {
        let zoneID = CKRecordZoneID(zoneName: "Notes", ownerName: CKOwnerDefaultName)
        let recordID = CKRecordID(recordName: "n1", zoneID: zoneID)
        let reference = CKReference(recordID: recordID, action: .deleteSelf)
        let action: CKReferenceAction = reference.action
        #expect(action == .deleteSelf)
        let info = CKNotificationInfo()
        info.alertBody = "x"
        info.shouldSendContentAvailable = true
        let subscription = CKQuerySubscription(
            recordType: "Note",
            predicate: NSPredicate(value: true),
            options: [.firesOnRecordCreation, .firesOnRecordUpdate]
        )
        subscription.notificationInfo = info
        let type: CKSubscriptionType = subscription.subscriptionType
        #expect(type == .query)
        let code: CKErrorCode = .zoneNotFound
        #expect(code.rawValue == 26)
        #expect(CKRecordZoneDefaultName == "_defaultZone")
        #expect(CKRecordTypeUserRecord == "Users")
    }

    @Test func `Predicates accept every kind of argument`() {
        let names = ["a", "b"]
        let date = NSDate(timeIntervalSince1970: 0)
        let location = CLLocation(latitude: 1, longitude: 2)
        let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "x"), action: .none)
        let predicates = [
            NSPredicate(value: true),
            NSPredicate(format: "TRUEPREDICATE"),
            NSPredicate(format: "name = %@", "x"),
            NSPredicate(format: "name == %@ AND age > %d", "x", 5),
            NSPredicate(format: "name IN %@", names),
            NSPredicate(format: "%K BEGINSWITH %@", "name", "x"),
            NSPredicate(format: "date > %@", date),
            NSPredicate(format: "date > %@", date as Date as CVarArg),
            NSPredicate(format: "owner == %@", reference),
            NSPredicate(format: "recordID = %@", reference.recordID),
            NSPredicate(
                format: "distanceToLocation:fromLocation:(location, %@) < %f",
                location,
                10.0
            ),
            NSPredicate(format: "a = %@ AND b = %@", argumentArray: ["x", 5]),
            NSCompoundPredicate(andPredicateWithSubpredicates: [NSPredicate(format: "a = 1")]),
        ]
        for predicate in predicates {
            let query = CKQuery(recordType: "Thing", predicate: predicate)
            query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
            #expect(!query.description.isEmpty)
        }
    }

    @Test func `Assets and notifications need no unwrapping`() {
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/x"))
        let path: String = asset.fileURL.path
        #expect(path == "/tmp/x")
        if let url = asset.fileURL { #expect(url.isFileURL) }
        let userInfo: [AnyHashable: Any] = [
            "aps": ["content-available": 1],
            "ck": ["met": ["sid": "s", "dbs": 2], "cid": "iCloud.x"],
        ]
        let notification: CKNotification = CKNotification(
            fromRemoteNotificationDictionary: userInfo
        )
        #expect(notification.notificationType == .database)
        if let database = CKNotification(fromRemoteNotificationDictionary: userInfo)
            as? CKDatabaseNotification
        {
            #expect(database.databaseScope == .private)
            #expect(database.subscriptionID == "s")
        } else {
            Issue.record("not a database's notification")
        }
    }

    @Test func `A notification from a dictionary of objects needs no unwrapping`() {
        let userInfo: [AnyHashable: Any] = [
            "aps": ["content-available": 1],
            "ck": ["met": ["sid": "s", "dbs": 2], "cid": "iCloud.x"],
        ]
        var objects: [String: NSObject] = [:]
        for case (let key as String, let value as [String: Any]) in userInfo {
            objects[key] = value as NSDictionary
        }
        let notification = CKNotification(fromRemoteNotificationDictionary: objects)
        #expect(notification.subscriptionID == "s" && notification.notificationType == .database)
        #expect(notification.notificationID == nil)
        #expect(notification is CKDatabaseNotification)
        let zone = CKRecordZoneNotification(fromRemoteNotificationDictionary: objects)
        #expect(zone == nil && zone.subscriptionID == nil && zone.notificationType == nil)
        let newer: CKNotification? = CKNotification(fromRemoteNotificationDictionary: userInfo)
        #expect(newer?.subscriptionID == "s")
    }

    @Test func `A notification from a dictionary of objects may be nil`() throws {
        let met: NSDictionary = ["met": ["sid": "s", "dbs": 2], "cid": "iCloud.x"]
        let objects: [String: NSObject] = ["ck": met]
        let optional = CKNotification(fromRemoteNotificationDictionary: objects)
        #expect(optional?.subscriptionID == "s")
        guard let notification = optional else { throw CKError(.internalError) }
        #expect(notification.notificationType == .database)
        if let found = CKNotification(fromRemoteNotificationDictionary: objects) {
            #expect(found.subscriptionID == "s")
        }
        for other: [String: NSObject] in [[:], ["aps": NSDictionary()]] {
            #expect(CKNotification(fromRemoteNotificationDictionary: other) == nil)
        }
    }

    @Test func `Errors can be inspected in every way`() {
        let error: Error = CKError(
            .limitExceeded,
            userInfo: [CKErrorRetryAfterKey: NSNumber(value: 3.0)]
        )
        if let ckError = error as? CKError {
            #expect(ckError.code == .limitExceeded)
            #expect(ckError.code == CKError.limitExceeded)
            #expect(ckError.errorCode == CKError.Code.limitExceeded.rawValue)
            #expect(ckError.retryAfterSeconds == 3)
            switch ckError.code {
            case .limitExceeded: break
            case .zoneNotFound, .userDeletedZone: Issue.record("wrong")
            default: Issue.record("wrong")
            }
        } else {
            Issue.record("not a CKError")
        }
        let nsError = error as NSError
        #expect(nsError.domain == CKErrorDomain)
        #expect(CKError.Code(rawValue: nsError.code) == .limitExceeded)
        #expect(nsError.userInfo[CKErrorRetryAfterKey] as? Double == 3)
        #expect((nsError as Error) is CKError)
        guard case CKError.limitExceeded = error else {
            Issue.record("not matched")
            return
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel
import TidemarkWire

/// The dictionary of a remote notification.
///
/// `PushPayload` writes it and documents its keys.
struct RemotePayload {
    let ck: [AnyHashable: Any]
    let aps: [AnyHashable: Any]
    let type: CKNotification.NotificationType
    /// The content under `qry`, `fet`, `met` or `rd`.
    private let content: [AnyHashable: Any]

    /// Creates a payload that contains only the subject.
    init(of type: CKNotification.NotificationType) {
        (ck, aps, content) = ([:], [:], [:])
        self.type = type
    }

    /// Reads a dictionary; `nil` for one that is not CloudKit's.
    init?(_ dictionary: [AnyHashable: Any]) {
        guard let ck = dictionary["ck"] as? [AnyHashable: Any] else { return nil }
        let kinds: [(String, CKNotification.NotificationType)] = [
            ("qry", .query), ("fet", .recordZone), ("met", .database), ("rd", .readNotification),
        ]
        let found = kinds.lazy.compactMap { key, type in
            (ck[key] as? [AnyHashable: Any]).map { ($0, type) }
        }
        guard let (content, type) = found.first else { return nil }
        self.ck = ck
        self.content = content
        self.type = type
        aps = dictionary["aps"] as? [AnyHashable: Any] ?? [:]
    }

    var id: String? { ck["nid"] as? String }
    var container: String? { ck["cid"] as? String }
    var user: String? { ck["ckuserid"] as? String }
    var isPruned: Bool { (ck["p"] as? NSNumber)?.boolValue ?? false }
    var subscriptionID: String? { content["sid"] as? String }
    var fields: [String: Any]? {
        (content["af"] as? [String: Any])?.mapValues { ArchivedField.value(of: $0) }
    }

    var scope: CKDatabaseScope {
        // A pruned notification lacks the scope, and Apple's property is not an optional.
        (content["dbs"] as? Int).flatMap { CKDatabaseScope(rawValue: $0) } ?? .private
    }

    var reason: CKQueryNotification.Reason? {
        (content["fo"] as? Int).flatMap { CKQueryNotification.Reason(rawValue: $0) }
    }

    var zoneID: CKRecordZoneID? {
        guard let name = content["zid"] as? String else { return nil }
        // Without an owner the zone is the user's own.
        return CKRecordZoneID(
            zoneName: name,
            ownerName: content["zoid"] as? String ?? CKCurrentUserDefaultName
        )
    }

    var recordID: CKRecordID? {
        guard let name = content["rid"] as? String else { return nil }
        return CKRecordID(recordName: name, zoneID: zoneID ?? .default)
    }

    /// Returns a part of the alert, by its key; a text alone is the alert's body.
    func alert<Value>(_ key: String) -> Value? {
        if let text = aps["alert"] as? String { return key == "body" ? text as? Value : nil }
        return (aps["alert"] as? [AnyHashable: Any])?[key] as? Value
    }

    /// The notification, of the class that it is for.
    var notification: CKNotification {
        switch type {
        case .query: CKQueryNotification(self)
        case .recordZone: CKRecordZoneNotification(self)
        case .database: CKDatabaseNotification(self)
        case .readNotification: CKNotification(self)
        }
    }
}

// MARK: The service

extension Subscription.Notification {
    /// The dictionary that ``CKNotification`` reads.
    var remoteDictionary: [AnyHashable: Any] { remoteDictionary(badge: 1) }

    /// Returns the dictionary, with the app's badge if the notification changes it.
    func remoteDictionary(badge: Int) -> [AnyHashable: Any] {
        var payload = PushPayload(self)
        payload.badge = badge
        return payload.members.dictionary
    }
}

extension [(name: String, value: PushPayload.Value)] {
    fileprivate var dictionary: [AnyHashable: Any] {
        var dictionary: [AnyHashable: Any] = [:]
        for member in self { dictionary[member.name] = member.value.object }
        return dictionary
    }
}

extension PushPayload.Value {
    /// The value as programs read it.
    fileprivate var object: Any {
        switch self {
        case .text(let text): text
        case .number(let number): NSNumber(value: number)
        case .texts(let texts): texts
        case .field(let value, let zone):
            ArchivedField.form(of: RecordValue(value, in: zone).object)
        case .members(let members): members.dictionary
        }
    }
}

/// Values of fields in a dictionary that JSON can hold, as those of remote notifications.
///
/// Texts and numbers are as they are. A date, for one, is a dictionary with its archive.
private enum ArchivedField {
    private static let key = "archive"
    private static let classes: [AnyClass] = [
        NSDate.self, NSData.self, NSNumber.self, CLLocation.self, CKReference.self,
    ]

    /// Returns the form of a value in the dictionary.
    static func form(of value: Any) -> Any {
        if JSONSerialization.isValidJSONObject([value]) { return value }
        let archive = try? NSKeyedArchiver.archivedData(
            withRootObject: value,
            requiringSecureCoding: true
        )
        return archive.map { [key: $0.base64EncodedString()] } ?? value
    }

    /// Returns the value that has a form.
    static func value(of form: Any) -> Any {
        guard let text = (form as? [String: Any])?[key] as? String,
            let archive = Data(base64Encoded: text),
            let object = try? NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: archive)
        else { return form }
        return RecordValue(object)?.object ?? object
    }
}

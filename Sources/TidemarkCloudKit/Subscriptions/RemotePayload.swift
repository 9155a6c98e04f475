// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel
import TidemarkWire

/// The dictionary of a remote notification.
///
/// `PushPayload` writes it and documents its keys. Fields have the form of ``ObjectField``.
struct RemotePayload {
    let ck: [AnyHashable: Any]
    let aps: [AnyHashable: Any]
    let type: CKNotification.NotificationType
    /// The content under `qry`, `fet`, `met` or `rd`.
    private let content: [AnyHashable: Any]

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
        (content["af"] as? [String: Any])?.compactMapValues { ObjectField.value(of: $0) }
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
            ObjectField.form(of: RecordValue(value, in: zone))
        case .members(let members): members.dictionary
        }
    }
}

/// A date, a location or a reference as a dictionary with one key, which JSON can hold.
///
/// Other fields of a notification are texts and numbers, and have no other form.
private struct ObjectField: Codable {
    /// Seconds since the beginning of 2001.
    var date: Double?
    var location: CLLocation.Archive?
    var reference: CKReference.Archive?

    /// Returns the form of a value in the dictionary.
    static func form(of value: RecordValue) -> Any {
        let field: ObjectField
        switch value {
        case .date(let date): field = ObjectField(date: date.timeIntervalSinceReferenceDate)
        case .location(let place): field = ObjectField(location: place.archived)
        case .reference(let link): field = ObjectField(reference: link.archived)
        default: return value.object
        }
        let json = try? JSONEncoder().encode(field)
        return json.flatMap { try? JSONSerialization.jsonObject(with: $0) } ?? value.object
    }

    /// Returns the value that has a form; `nil` if it is no form.
    static func value(of form: Any) -> Any? {
        guard form is [AnyHashable: Any] else { return form }
        guard JSONSerialization.isValidJSONObject(form),
            let json = try? JSONSerialization.data(withJSONObject: form),
            let field = try? JSONDecoder().decode(ObjectField.self, from: json)
        else { return nil }
        if let seconds = field.date {
            return NSDate(timeIntervalSinceReferenceDate: seconds)
        }
        return field.location.map { CLLocation($0) } ?? field.reference.map { CKReference($0) }
    }
}

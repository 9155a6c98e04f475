// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// A remote notification's dictionary.
///
/// `aps` is what systems show. `ck` holds `cid` (container), `nid` (the notification's name), `ckuserid`
/// (whose subscription), `p` (pruned), and one of
///
/// - `qry`: `dbs` (scope), `fo` (reason), `rid` (record name), `sid` (subscription), `zid`, `zoid` (zone
///   and owner), `af` (fields);
/// - `fet`: `dbs`, `sid`, `zid`, `zoid`, for a zone;
/// - `met`: `dbs`, `sid`, for a database;
/// - `rd`: for a notification that another client has read.
struct RemotePayload {
    let ck: [AnyHashable: Any]
    let aps: [AnyHashable: Any]
    let type: CKNotification.NotificationType
    /// What lies under `qry`, `fet`, `met` or `rd`.
    private let content: [AnyHashable: Any]

    /// A payload that says nothing but what it is about.
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
    var fields: [String: Any]? { content["af"] as? [String: Any] }

    var scope: CKDatabaseScope {
        (content["dbs"] as? Int).flatMap { CKDatabaseScope(rawValue: $0) } ?? .private
    }

    var reason: CKQueryNotification.Reason? {
        (content["fo"] as? Int).flatMap { CKQueryNotification.Reason(rawValue: $0) }
    }

    var zoneID: CKRecordZoneID? {
        guard let name = content["zid"] as? String else { return nil }
        return CKRecordZoneID(
            zoneName: name,
            ownerName: content["zoid"] as? String ?? CKCurrentUserDefaultName
        )
    }

    var recordID: CKRecordID? {
        guard let name = content["rid"] as? String else { return nil }
        return CKRecordID(recordName: name, zoneID: zoneID ?? .default)
    }

    /// What is shown, by its key; a text alone is the main one.
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

    /// The dictionary, with what the app's badge shows then, where the notification changes it.
    func remoteDictionary(badge: Int) -> [AnyHashable: Any] {
        var ck: [AnyHashable: Any] = ["ckuserid": user.userRecordName]
        ck["cid"] = container?.identifier
        ck["nid"] = id
        if isPruned { ck["p"] = 1 }
        var content: [AnyHashable: Any] = [:]
        if !subscriptionID.isEmpty { content["sid"] = subscriptionID }
        content["dbs"] = scope?.rawValue
        content["fo"] = reason.map { Int($0.rawValue) }
        content["rid"] = recordID?.recordName
        let place = zone ?? recordID?.zone
        content["zid"] = place?.zoneName
        content["zoid"] = place?.ownerName
        if !fields.isEmpty { content["af"] = recordFields }
        switch kind {
        case .query: ck["qry"] = content
        case .zone: ck["fet"] = content
        case .database: ck["met"] = content
        case .read: ck["rd"] = content
        }
        return ["ck": ck, "aps": self.content.aps(badge)]
    }

    private var recordFields: [String: Any] {
        let place = zone ?? recordID?.zone ?? .default
        var values: [String: Any] = [:]
        for field in fields.present {
            values[field.name] = field.value.map { RecordValue($0, in: place).object }
        }
        return values
    }
}

extension NotificationContent {
    /// What systems show.
    fileprivate func aps(_ badge: Int) -> [AnyHashable: Any] {
        var shown: [AnyHashable: Any] = [:]
        func add(_ text: Text, _ keys: (text: String, key: String, arguments: String)) {
            shown[keys.text] = text.text
            shown[keys.key] = text.localizationKey
            if !text.localizationArguments.isEmpty {
                shown[keys.arguments] = text.localizationArguments
            }
        }
        add(alert, ("body", "loc-key", "loc-args"))
        add(title, ("title", "title-loc-key", "title-loc-args"))
        add(subtitle, ("subtitle", "subtitle-loc-key", "subtitle-loc-args"))
        shown["action-loc-key"] = actionLocalizationKey
        shown["launch-image"] = launchImage
        var aps: [AnyHashable: Any] = [:]
        if !shown.isEmpty { aps["alert"] = shown }
        aps["sound"] = soundName
        aps["category"] = category
        if badges { aps["badge"] = NSNumber(value: badge) }
        if isContentAvailable { aps["content-available"] = 1 }
        if isMutable { aps["mutable-content"] = 1 }
        return aps
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The dictionary of a remote notification: `aps`, which systems show, and `ck`, which CloudKit
/// code reads.
///
/// `ck` holds `ce` (the version of this form), `cid` (container), `nid` (the notification's name),
/// `ckuserid` (the user who has the subscription), `p` (pruned), and one of
///
/// - `qry`: `dbs` (scope), `fo` (reason), `rid` (record name), `sid` (subscription), `zid`, `zoid`
///   (zone and owner), `af` (fields);
/// - `fet`: `dbs`, `sid`, `zid`, `zoid`, for a zone;
/// - `met`: `dbs`, `sid`, for a database;
/// - `rd`: for a notification that another client has read.
package struct PushPayload {
    /// A value of the dictionary.
    package enum Value {
        case text(String)
        case number(Int)
        case texts([String])
        /// The value of a field of a record in a zone.
        case field(FieldValue, in: ZoneID)
        case members([(name: String, value: Value)])
    }

    /// The notification.
    package var notification: Subscription.Notification
    /// The number that the app's badge shows, if the notification changes it.
    package var badge = 1
    /// The `nid`.
    package var name: String?
    /// The name that replaces `__defaultOwner__` as the owner of zones; `nil` keeps it.
    package var owner: String?

    /// Creates the dictionary of a notification, whose id is the `nid`.
    package init(_ notification: Subscription.Notification) {
        self.notification = notification
        name = notification.id
    }

    /// The members of the dictionary.
    package var members: [(name: String, value: Value)] {
        var ck = Members()
        ck["ce"] = .number(2)
        ck["cid"] = notification.container.map { .text($0.identifier) }
        ck["nid"] = name.map { .text($0) }
        ck["ckuserid"] = .text(notification.user.userRecordName)
        if notification.isPruned { ck["p"] = .number(1) }
        ck[notification.kind.payloadKey] = .members(subject.all)
        return [("aps", .members(notification.content.aps(badge))), ("ck", .members(ck.all))]
    }

    /// The record, zone or database of the notification.
    private var subject: Members {
        var subject = Members()
        let zone = notification.zone ?? notification.recordID?.zone
        if !notification.subscriptionID.isEmpty {
            subject["sid"] = .text(notification.subscriptionID)
        }
        subject["dbs"] = notification.scope.map { .number($0.rawValue) }
        subject["fo"] = notification.reason.map { .number(Int($0.rawValue)) }
        subject["rid"] = notification.recordID.map { .text($0.recordName) }
        subject["zid"] = zone.map { .text($0.zoneName) }
        subject["zoid"] = zone.map { .text(ownerName(of: $0)) }
        if !notification.fields.isEmpty {
            var fields = Members()
            for field in notification.fields.present {
                fields[field.name] = field.value.map { .field($0, in: zone ?? .default) }
            }
            subject["af"] = .members(fields.all)
        }
        return subject
    }

    private func ownerName(of zone: ZoneID) -> String {
        zone.ownerName == ZoneID.currentOwner ? owner ?? zone.ownerName : zone.ownerName
    }

    /// The dictionary as JSON.
    ///
    /// Values of fields have the form that records have on the wire: dates are milliseconds since
    /// 1970.
    package var json: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(payload: .members(members))
        return bytes
    }
}

/// The members in the order in which they were set, without those that have no value.
private struct Members {
    var all: [(name: String, value: PushPayload.Value)] = []

    subscript(name: String) -> PushPayload.Value? {
        get { all.first { $0.name == name }?.value }
        set {
            if let newValue { all.append((name, newValue)) }
        }
    }
}

extension Subscription.Notification.Kind {
    fileprivate var payloadKey: String {
        switch self {
        case .query: "qry"
        case .zone: "fet"
        case .database: "met"
        case .read: "rd"
        }
    }
}

extension NotificationContent {
    /// Returns the members that systems show.
    fileprivate func aps(_ badge: Int) -> [(name: String, value: PushPayload.Value)] {
        var shown = Members()
        func add(_ text: Text, _ keys: (text: String, key: String, arguments: String)) {
            shown[keys.text] = text.text.map { .text($0) }
            shown[keys.key] = text.localizationKey.map { .text($0) }
            if !text.localizationArguments.isEmpty {
                shown[keys.arguments] = .texts(text.localizationArguments)
            }
        }
        add(title, ("title", "title-loc-key", "title-loc-args"))
        add(subtitle, ("subtitle", "subtitle-loc-key", "subtitle-loc-args"))
        add(alert, ("body", "loc-key", "loc-args"))
        shown["action-loc-key"] = actionLocalizationKey.map { .text($0) }
        shown["launch-image"] = launchImage.map { .text($0) }
        var aps = Members()
        if shown.all.count == 1, let body = shown["body"] {
            // A text alone is written as it is, as in Apple's notifications.
            aps["alert"] = body
        } else if !shown.all.isEmpty {
            aps["alert"] = .members(shown.all)
        }
        if badges { aps["badge"] = .number(badge) }
        aps["sound"] = soundName.map { .text($0) }
        aps["category"] = category.map { .text($0) }
        if isContentAvailable { aps["content-available"] = .number(1) }
        if isMutable { aps["mutable-content"] = .number(1) }
        return aps.all
    }
}

extension [UInt8] {
    fileprivate mutating func append(payload value: PushPayload.Value) {
        switch value {
        case .text(let text): append(jsonString: text)
        case .number(let number): append(jsonNumber: number)
        case .texts(let texts): append(json: FieldValue.stringList(texts))
        case .field(let value, _): append(json: value)
        case .members(let members):
            append(literal: "{")
            for (index, member) in members.enumerated() {
                if index > 0 { append(literal: ",") }
                append(jsonString: member.name)
                append(literal: ":")
                append(payload: member.value)
            }
            append(literal: "}")
        }
    }
}

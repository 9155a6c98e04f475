// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkModel

/// The encoding of subscriptions as records of the zone `_subscriptions`.
package enum SubscriptionRecords {
    private static let type = "Subscription"

    /// Returns the save that stores a subscription.
    package static func save(_ held: HeldSubscription) throws(SyncError) -> RecordSave {
        RecordSave(
            RecordID(recordName: held.recordName.string, zone: SystemZone.subscriptions.zone),
            type: type,
            fields: try fields(held),
            policy: .replace
        )
    }

    /// Returns the fields of a subscription's record: equal for equal subscriptions.
    package static func fields(_ held: HeldSubscription) throws(SyncError) -> Fields {
        let database = held.holder.database
        var builder = FieldsBuilder()
        try builder.set("container", .string(database.container.identifier))
        try builder.set("environment", .string(database.environment.rawValue))
        try builder.set("database", .string(database.scope.name))
        try builder.set("owner", .string(database.owner.userRecordName))
        try builder.set("user", .string(held.holder.user.userRecordName))
        try builder.set("subscriptionID", .string(held.subscription.id))
        switch held.subscription.kind {
        case .query(let query):
            try builder.set("subscriptionType", "query")
            try builder.set("recordType", .string(query.recordType))
            try builder.set("predicate", .string("\(query.predicate)"))
            try builder.set("options", .int64(Int64(query.options.rawValue)))
            try builder.set(query.zone)
        case .zone(let zone, let recordType):
            try builder.set("subscriptionType", "zone")
            try builder.set(zone)
            try builder.setIfAny("recordType", recordType?.string)
        case .database(let recordType):
            try builder.set("subscriptionType", "database")
            try builder.setIfAny("recordType", recordType?.string)
        }
        try builder.set(held.subscription.content)
        return try builder.finish()
    }

    /// Reads a subscription's record.
    ///
    /// Throws `internalError` if the record is invalid, which no request and no import can cause.
    package static func read(_ body: RecordBody) throws(SyncError) -> HeldSubscription {
        let fields = body.fields
        guard let scope = fields.string("database").flatMap({ DatabaseScope(name: $0) }),
            let environment = fields.string("environment").flatMap({ Environment(rawValue: $0) }),
            let container = fields.string("container"), let owner = fields.string("owner"),
            let user = fields.string("user"), let id = fields.string("subscriptionID")
        else { throw unreadable(body, "it does not say whose subscription it is") }
        let holder = SubscriptionHolder(
            user: UserID(user),
            database: DatabaseID(
                container: ContainerID(container),
                environment: environment,
                scope: scope,
                owner: UserID(owner)
            )
        )
        var subscription = Subscription(id, try kind(fields, body))
        subscription.content = fields.content
        return HeldSubscription(holder: holder, subscription: subscription)
    }

    private static func kind(
        _ fields: Fields,
        _ body: RecordBody
    ) throws(SyncError) -> Subscription.Kind {
        let recordType = fields.string("recordType")
        switch fields.string("subscriptionType") {
        case "query":
            guard let recordType, let text = fields.string("predicate"),
                let options = fields.integer("options").flatMap(UInt8.init(exactly:))
            else { throw unreadable(body, "its query lacks a type, a predicate or options") }
            return .query(
                Subscription.RecordQuery(
                    recordType: recordType,
                    predicate: try Query.Predicate(format: text),
                    options: Subscription.Options(rawValue: options),
                    zone: fields.zone
                )
            )
        case "zone":
            guard let zone = fields.zone else { throw unreadable(body, "it names no zone") }
            return .zone(zone, recordType: recordType.map { Name($0) })
        case "database":
            return .database(recordType: recordType.map { Name($0) })
        default:
            throw unreadable(body, "its subscriptionType is unknown")
        }
    }

    /// Rejects a save of an import that would make the zone unreadable.
    package static func check(_ save: RecordSave) throws(SyncError) {
        guard save.recordID.zone.zoneName == SystemZone.subscriptions.rawValue else { return }
        let moment = Authorship(time: 0, user: nil)
        let header = RecordHeader(
            recordName: Name(save.recordID.recordName),
            recordType: Name(save.recordType),
            created: moment,
            modified: moment
        )
        let held: HeldSubscription
        do throws(SyncError) {
            // Read as the notifier will read it: a record that fails there would stop all
            // notifications.
            held = try read(RecordBody(header, fields: save.fields))
        } catch {
            throw SyncError(.invalidArguments, error.message)
        }
        // The name of the record sorts subscriptions by database before they are read, so it must
        // match the fields.
        guard held.recordName == Name(save.recordID.recordName) else {
            throw SyncError(
                .invalidArguments,
                "The subscription \(save.recordID.recordName) is named after another one: "
                    + "\(held.recordName) was expected."
            )
        }
    }

    private static func unreadable(_ body: RecordBody, _ reason: String) -> SyncError {
        SyncError(
            .internalError,
            "The record \(body.recordName) of the zone \(SystemZone.subscriptions.rawValue) is not "
                + "a subscription: \(reason)."
        )
    }
}

extension FieldsBuilder {
    /// Sets the fields that name a zone.
    package mutating func set(_ zone: ZoneID?) throws(SyncError) {
        guard let zone else { return }
        try set("zone", .string(zone.zoneName))
        if zone.ownerName != ZoneID.currentOwner { try set("zoneOwner", .string(zone.ownerName)) }
    }
}

extension Fields {
    /// The zone that is named.
    package var zone: ZoneID? {
        string("zone").map { name in
            ZoneID(zoneName: name, ownerName: string("zoneOwner") ?? ZoneID.currentOwner)
        }
    }
}

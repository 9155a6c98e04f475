// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Subscription {
    /// Refuses a subscription that no database can have, or not this one.
    ///
    /// Does not check that its zone and its fields exist; the store does.
    package func check(in database: DatabaseID, _ limits: Limits) throws(SyncError) {
        try limits.check(subscriptionID: name)
        try check(availableIn: database)
        switch kind {
        case .query(let query):
            try limits.check(recordType: Name(query.recordType))
            try query.check(of: self)
        case .zone(let zone, let type):
            // CloudKit has subscriptions to zones for custom zones only.
            guard zone.name != ZoneID.default.name else {
                throw SyncError(
                    .invalidArguments,
                    "The subscription \"\(id)\" is about the default zone; subscriptions to zones "
                        + "are for custom ones. Use a subscription by query."
                )
            }
            if let type { try limits.check(recordType: type) }
        case .database(let type):
            if let type { try limits.check(recordType: type) }
        }
        try content.check(of: self, limits)
    }

    /// Refuses kinds that a database does not have.
    private func check(availableIn database: DatabaseID) throws(SyncError) {
        // This is the table of Docs/subscriptions.md, "What there is to subscribe to".
        switch (kind, database.scope) {
        case (.query, .public), (.query, .private), (.zone, .private), (.database, .private),
            (.database, .shared):
            return
        case (.query, .shared):
            throw .badDatabase(database, "have subscriptions by query; subscribe to the database")
        case (.zone, .shared):
            throw .badDatabase(database, "have subscriptions to zones; subscribe to the database")
        case (.zone, .public), (.database, .public):
            throw .badDatabase(database, "have subscriptions but those by query")
        }
    }
}

extension Subscription.RecordQuery {
    fileprivate func check(of subscription: Subscription) throws(SyncError) {
        guard !options.isDisjoint(with: [.create, .update, .delete]) else {
            throw SyncError(
                .invalidArguments,
                "The subscription \"\(subscription.id)\" never fires: choose at least one of "
                    + "create, update and delete."
            )
        }
        guard options.isSubset(of: .known) else {
            throw SyncError(
                .invalidArguments,
                "The subscription \"\(subscription.id)\" has unknown options: "
                    + "\(options.rawValue). The options are create, update, delete and once."
            )
        }
        // Preparing the predicate finds every problem that does not depend on the types of fields.
        _ = try Query.Matcher(predicate, now: 0)
        // It is stored as text.
        let text = predicate.description
        guard text.utf8.count <= Query.Predicate.textByteCountLimit else {
            throw SyncError(
                .limitExceeded,
                "The predicate of the subscription \"\(subscription.id)\" has \(text.utf8.count) "
                    + "bytes; at most \(Query.Predicate.textByteCountLimit) are allowed.",
                remedy: "Shorten the predicate."
            )
        }
        // A text that is not read back, such as one that is nested too deeply, could not be
        // evaluated after the store was opened again.
        _ = try Query.Predicate(format: text)
    }
}

extension NotificationContent {
    fileprivate func check(of subscription: Subscription, _ limits: Limits) throws(SyncError) {
        let limit = limits.desiredKeysPerSubscription
        guard desiredKeys.count <= limit else {
            throw SyncError(
                .invalidArguments,
                "The subscription \"\(subscription.id)\" asks for \(desiredKeys.count) fields; at "
                    + "most \(limit) are allowed. Fetch the record for more."
            )
        }
        // Names are compared by their bytes, which `String` does not do.
        guard Set(desiredKeys.map { Name($0) }).count == desiredKeys.count else {
            throw SyncError(
                .invalidArguments,
                "The subscription \"\(subscription.id)\" asks for a field twice; name each one once."
            )
        }
        for key in namedFields { try limits.check(fieldName: Array(key.utf8)[...]) }
        let byteCount = textByteCount
        guard byteCount <= limits.notificationContentByteCount else {
            throw SyncError(
                .limitExceeded,
                "The texts of the subscription \"\(subscription.id)\" have \(byteCount) bytes; at "
                    + "most \(limits.notificationContentByteCount) are allowed.",
                remedy: "Shorten the texts."
            )
        }
    }

    /// The names of fields, wherever they are used.
    package var namedFields: [String] {
        desiredKeys + [alert, title, subtitle].flatMap(\.localizationArguments)
    }

    private var textByteCount: Int {
        let texts = [alert, title, subtitle].flatMap { [$0.text, $0.localizationKey] }
        let others = [actionLocalizationKey, launchImage, soundName, category, collapseID]
        return (texts + others).reduce(0) { $0 + ($1?.utf8.count ?? 0) }
            + namedFields.reduce(0) { $0 + $1.utf8.count }
    }
}

extension FieldType {
    /// True if notifications can contain values of this type.
    package var fitsNotifications: Bool {
        switch self {
        case .string, .int64, .double, .location, .timestamp, .reference: true
        default: false
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The decision about a request to save and delete subscriptions.
package struct SubscriptionDecision {
    /// The holder of the subscriptions.
    package let holder: SubscriptionHolder
    /// The outcomes of the saves, then of the deletions, each in request order.
    package private(set) var outcomes: [ItemOutcome] = []
    /// The commit; empty if nothing has to change.
    package var plan: CommitPlan

    /// The holder's subscriptions after the request.
    private var entries: [Name: SavedSubscription]

    /// Decides a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - caller: The user and device that made it.
    ///   - holder: The caller as the holder of subscriptions.
    ///   - entries: The holder's subscriptions.
    ///   - schema: The container's schema for subscriptions.
    ///   - limits: The limits of the store.
    ///   - facts: The state of the store at the request.
    ///   - time: Milliseconds since 1970.
    ///
    /// - Throws: An error if the state cannot be read.
    package init(
        _ request: ModifySubscriptionsRequest,
        as caller: Caller,
        _ holder: SubscriptionHolder,
        with entries: [Name: SavedSubscription],
        under schema: SubscriptionSchema,
        _ limits: Limits,
        over facts: any Facts,
        time: Int64
    ) throws(SyncError) {
        self.holder = holder
        self.entries = entries
        plan = CommitPlan(over: facts, time: time)
        let author = Authorship(time: time, user: caller.user, device: caller.device)
        var change = SystemChange(zone: .subscriptions)
        var schema = schema
        // Deletions make room for saves.
        for id in request.deletions {
            let name = Name(id)
            if self.entries.removeValue(forKey: name) != nil {
                change.deletions.append(HeldSubscription.recordName(of: name, holder))
            }
        }
        var isDone: [Bool] = []
        for subscription in request.saves {
            let outcome = try decide(subscription, limits, facts, &schema)
            if let save = outcome.save { change.saves.append(save) }
            outcomes.append(outcome.outcome)
            isDone.append(outcome.save != nil)
        }
        outcomes += request.deletions.map { _ in .nothingToDo }
        if let grown = try schema.change {
            try plan.add(grown, of: holder.database, by: author, over: facts)
        }
        try plan.add(change, of: holder.database, by: author, over: facts)
        // The first result waits for the whole commit.
        let last = ItemOutcome.event(max(plan.eventCount - 1, 0))
        for index in isDone.indices where isDone[index] { outcomes[index] = last }
    }

    /// Returns the holder's subscriptions after the commit; saved ones have the commit's last
    /// position.
    package func saved(at sequence: SequenceNumber) -> [Name: SavedSubscription] {
        entries.mapValues { entry in
            entry.sequence > 0
                ? entry
                : SavedSubscription(subscription: entry.subscription, sequence: sequence)
        }
    }

    /// Decides one save.
    private mutating func decide(
        _ subscription: Subscription,
        _ limits: Limits,
        _ facts: any Facts,
        _ schema: inout SubscriptionSchema
    ) throws(SyncError) -> (save: RecordSave?, outcome: ItemOutcome) {
        let held = HeldSubscription(holder: holder, subscription: subscription)
        do throws(SyncError) {
            try subscription.check(in: holder.database, limits)
            try checkZone(of: subscription, limits, facts)
            if let old = entries[subscription.name] {
                // Equal subscriptions have equal fields, so saving one again makes no event.
                let oldHeld = HeldSubscription(holder: holder, subscription: old.subscription)
                if try SubscriptionRecords.fields(oldHeld) == SubscriptionRecords.fields(held) {
                    return (nil, .nothingToDo)
                }
            }
            if let duplicate = duplicate(of: subscription) {
                throw .duplicateSubscription(subscription.id, of: duplicate.subscription.id)
            }
            try schema.admit(subscription)
            let save = try SubscriptionRecords.save(held)
            // Position 0 stands for this commit, whose position is not known yet. `saved(at:)`
            // replaces it.
            entries[subscription.name] = SavedSubscription(subscription: subscription, sequence: 0)
            return (save, .nothingToDo)
        } catch {
            // The state could not be read, which says nothing about the subscription.
            guard error.code != .internalError else { throw error }
            return (nil, ItemOutcome(error))
        }
    }

    /// Rejects a subscription to a zone that does not exist.
    private func checkZone(
        of subscription: Subscription,
        _ limits: Limits,
        _ facts: any Facts
    ) throws(SyncError) {
        let zone: ZoneID?
        switch subscription.kind {
        case .query(let query): zone = query.zone
        case .zone(let id, _): zone = id
        case .database: zone = nil
        }
        guard let zone else { return }
        var zones = ConsultedZones()
        let index = try zones.index(
            of: zone,
            in: holder.database,
            creating: .implicit,
            facts,
            limits
        )
        if let error = zones[index].error { throw error }
    }

    /// Returns another subscription of the holder that fires in the same cases.
    private func duplicate(of subscription: Subscription) -> SavedSubscription? {
        guard case .query(let query) = subscription.kind else { return nil }
        // `entries` has the earlier saves of this request too, so two new duplicates conflict with
        // each other.
        return entries.first { name, entry in
            guard name != subscription.name, case .query(let other) = entry.subscription.kind else {
                return false
            }
            return other.isSame(as: query)
        }?.value
    }
}

extension Subscription.RecordQuery {
    /// Returns true if both are the same query in one database, where a zone's name identifies the
    /// zone.
    fileprivate func isSame(as other: Subscription.RecordQuery) -> Bool {
        guard zone?.name == other.zone?.name else { return false }
        var other = other
        other.zone = zone
        return self == other
    }
}

/// The rules of a container's schema for subscriptions, which are those for queries.
package struct SubscriptionSchema {
    private let isStrict: Bool
    private let environment: Environment
    private let current: Schema?
    private var grown: Schema?

    /// - Parameters:
    ///   - schema: The schema; `nil` where schemas are not checked.
    ///   - environment: The environment that the schema is of.
    ///   - isStrict: True to reject everything that CloudKit rejects.
    package init(_ schema: Schema?, in environment: Environment, isStrict: Bool) {
        self.isStrict = isStrict
        self.environment = environment
        current = schema
    }

    /// The commit's change of the schema; `nil` if there is none.
    package var change: SystemChange? {
        get throws(SyncError) {
            guard let current, let grown, grown != current else { return nil }
            return try SystemChange.schema(from: current, to: grown)
        }
    }

    /// Rejects a subscription to types or fields that do not exist.
    ///
    /// In development, a type or a field may be created later, and the subscription creates its
    /// indexes.
    package mutating func admit(_ subscription: Subscription) throws(SyncError) {
        guard case .query(let query) = subscription.kind else { return }
        let asked = Query(recordType: query.recordType, predicate: query.predicate)
        if isStrict, let refusal = asked.cloudKitRefusal { throw refusal }
        guard let current else {
            _ = try QueryRules.unchecked(asked)
            return
        }
        // Over the growth by earlier subscriptions of the request: one commit adds all indexes.
        let schema = grown ?? current
        _ = try QueryRules(asked, under: schema)
        let isLenient = environment == .development && !isStrict
        guard let type = schema[Name(query.recordType)] else {
            if isLenient { return }
            throw .recordTypeNotFound(Name(query.recordType))
        }
        for key in subscription.content.desiredKeys {
            try check(Name(key), in: type, isLenient: isLenient)
        }
        let changes = try QueryRules.growth(of: schema, for: asked, in: environment)
        if !changes.isEmpty { grown = schema.applying(changes) }
    }

    private func check(_ key: Name, in type: Schema.RecordType, isLenient: Bool) throws(SyncError) {
        guard let field = type[key] else {
            if isLenient { return }
            throw .fieldNotFound(key, in: type.name)
        }
        let fits =
            switch field.type {
            case .plain(let type): type.fitsNotifications
            case .number: true
            case .encrypted, .numberList: false
            }
        guard fits else {
            throw SyncError(
                .invalidArguments,
                "Field '\(key)' has a value type of \(field.type.reportedName), which "
                    + "notifications cannot carry. They carry only texts, numbers, places, dates "
                    + "and references."
            )
        }
    }
}

extension SyncError {
    /// Returns the error for a second subscription that fires in the same cases as another one of
    /// the user.
    static func duplicateSubscription(_ id: String, of other: String) -> SyncError {
        SyncError(
            .serverRejectedRequest,
            "subscription is duplicate of '\(other)': \"\(id)\" asks for the same changes of the same "
                + "records. Save it under that id, or delete that one first."
        )
    }
}

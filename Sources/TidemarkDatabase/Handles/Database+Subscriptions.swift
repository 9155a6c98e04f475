// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Database {
    /// Saves a subscription; it replaces the user's subscription with the same id.
    ///
    /// Durable when it returns.
    @discardableResult
    public func subscribe(_ subscription: Subscription) async throws -> Subscription {
        let request = ModifySubscriptionsRequest(saves: [subscription])
        return try await service.modifySubscriptions(request, as: caller).saves.only()
    }

    /// Subscribes to all changes in the database, under an id.
    ///
    /// Durable when it returns.
    @discardableResult
    public func subscribe(_ id: String = "database") async throws -> Subscription {
        try await subscribe(Subscription(id, .database()))
    }

    /// Deletes a subscription of the user.
    public func unsubscribe(_ id: String) async throws {
        let request = ModifySubscriptionsRequest(deletions: [id])
        _ = try await service.modifySubscriptions(request, as: caller).deletions.only()
    }

    /// Returns the user's subscriptions in this database, in the order of their ids' bytes.
    public func subscriptions() async throws -> [Subscription] {
        try await service.subscriptions(as: caller)
    }
}

extension ZoneHandle {
    /// Subscribes to all changes in the zone, under an id, by default the zone's name.
    ///
    /// Durable when it returns.
    @discardableResult
    public func subscribe(_ id: String? = nil) async throws -> Subscription {
        try await database.subscribe(Subscription(id ?? name, .zone(self.id)))
    }

    /// Subscribes to changes of records of a type in this zone that fulfil a condition.
    ///
    /// Durable when it returns. In development the first save of a record may create the type
    /// later; in production an unknown type is `unknownItem`.
    @discardableResult
    public func subscribe(
        _ id: String,
        to type: (some RecordCodable).Type,
        where filter: Query.Filter = .all,
        when options: Subscription.Options = [.create, .update, .delete]
    ) async throws -> Subscription {
        let query = Subscription.RecordQuery(
            recordType: type.recordType,
            predicate: try filter.predicate(),
            options: options,
            zone: self.id
        )
        return try await database.subscribe(Subscription(id, .query(query)))
    }
}

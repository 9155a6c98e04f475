// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Notifications {
    /// See ``Store/modifySubscriptions(_:as:)``.
    func modifySubscriptions(
        _ request: ModifySubscriptionsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifySubscriptionsResult {
        let notifier = try notifier()
        try reader.checkAccess(of: caller, writes: true)
        try request.check(reader.options.limits)
        return try await notifier.modify(request, as: caller, self)
    }

    /// See ``Store/subscriptions(as:)``.
    func subscriptions(as caller: Caller) async throws(SyncError) -> [Subscription] {
        try await saved(as: caller).sorted { $0.key < $1.key }.map(\.value)
    }

    /// See ``Store/fetchSubscriptions(_:as:)``.
    func fetchSubscriptions(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<Subscription, SyncError>] {
        try reader.options.limits.check(itemCount: ids.count)
        let saved = try await saved(as: caller)
        return ids.map { id in
            saved[Name(id)].map { .success($0) } ?? .failure(.noSubscription(id))
        }
    }

    /// The subscriptions of a caller in the caller's database, by id.
    private func saved(as caller: Caller) async throws(SyncError) -> [Name: Subscription] {
        try reader.checkAccess(of: caller, writes: false)
        let holder = try reader.holder(of: caller)
        // A store that is open for reading has no notifier. It reads the records at each call.
        if writer.ifAny != nil { return try await notifier().subscriptions(of: holder, self) }
        let catalog = try reader.subscriptionCatalog(try reader.picture(.visible))
        return catalog[holder].mapValues(\.subscription)
    }
}

extension ModifySubscriptionsRequest {
    /// Refuses a request that is too large, or names a subscription twice.
    fileprivate func check(_ limits: Limits) throws(SyncError) {
        try limits.check(itemCount: saves.count + deletions.count)
        // Before any other use of a predicate: recursion into one that is too deep would end the
        // process.
        for case .query(let query) in saves.map(\.kind) {
            let asked = Query(recordType: query.recordType, predicate: query.predicate)
            try asked.checkLevels()
        }
        var named: Set<Name> = []
        for id in saves.map(\.name) + deletions.map({ Name($0) }) {
            guard named.insert(id).inserted else {
                throw SyncError(
                    .invalidArguments,
                    "The request has two items for the subscription \"\(id)\"; send one item for each "
                        + "subscription."
                )
            }
        }
    }

    /// Returns the bytes that identify the request's content.
    func contentBytes(as caller: Caller) throws(SyncError) -> [UInt8] {
        guard caller.requestID != nil, let user = caller.user else { return [] }
        // Not what a request for records or zones begins with.
        var bytes: [UInt8] = [16]
        bytes.append(variableInteger: UInt64(saves.count))
        for subscription in saves {
            let holder = SubscriptionHolder(user: user, database: caller.database)
            let held = HeldSubscription(holder: holder, subscription: subscription)
            let fields = try SubscriptionRecords.fields(held)
            bytes.append(variableInteger: UInt64(fields.bytes.count))
            bytes.append(contentsOf: fields.bytes)
        }
        for id in deletions { bytes.append(string: id) }
        return bytes
    }

    /// Returns the result for some outcomes.
    func result(of outcomes: [ItemOutcome]) -> ModifySubscriptionsResult {
        var result = ModifySubscriptionsResult()
        for (index, outcome) in outcomes.enumerated() {
            let error = outcome.refusal
            if index < saves.count {
                result.saves.append(error.map { .failure($0) } ?? .success(saves[index]))
            } else {
                let id = deletions[index - saves.count]
                result.deletions.append(error.map { .failure($0) } ?? .success(id))
            }
        }
        return result
    }
}

extension ItemOutcome {
    /// The error of a rejection without a conflicting record version; `nil` if the item succeeded.
    var refusal: SyncError? {
        guard case .refused(let code, let message, _) = self else { return nil }
        return SyncError(SyncError.Code(rawValue: code) ?? .internalError, message)
    }
}

extension SyncError {
    /// A subscription that the caller does not have.
    static func noSubscription(_ id: String) -> SyncError {
        SyncError(.unknownItem, "There is no subscription \"\(id)\".")
    }
}

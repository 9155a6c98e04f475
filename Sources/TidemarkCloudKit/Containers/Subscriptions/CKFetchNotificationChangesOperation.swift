// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Fetches one page of the signed-in user's unread notifications.
///
/// Apple's service no longer stores notifications; this one does.
///
/// Unchecked: see ``CKOperation``.
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {
    /// Creates an operation that fetches all notifications.
    public override init() {}

    /// Creates an operation that fetches notifications after a token.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// The token of the last fetch; `nil` fetches everything.
    open var previousServerChangeToken: CKServerChangeToken?
    /// The maximum number of notifications to fetch; zero leaves it to the service.
    open var resultsLimit = 0

    /// Called for each notification.
    open var notificationChangedBlock: ((CKNotification) -> Void)?
    /// Called at the end, with how far the program has come.
    open var fetchNotificationChangesCompletionBlock:
        ((CKServerChangeToken?, (any Error)?) -> Void)?

    /// True if there are more notifications; set when the operation has ended.
    open var moreComing: Bool { end?.moreComing ?? false }

    private var end: (token: CKServerChangeToken, moreComing: Bool)?

    override func perform(_ session: Session) async throws(CKError) {
        let request = NotificationChangesRequest(
            since: try previousServerChangeToken?.model,
            limit: resultsLimit > 0 ? resultsLimit : nil
        )
        let page = try await session.call { (service, caller) async throws(SyncError) in
            try await service.notificationChanges(request, as: caller)
        }
        for model in page.notifications {
            guard let notification = RemotePayload(model.remoteDictionary)?.notification else {
                continue
            }
            tell { self.notificationChangedBlock?(notification) }
        }
        end = (CKServerChangeToken(page.token), page.moreComing)
    }

    override func complete(_ error: (any Error)?) {
        fetchNotificationChangesCompletionBlock?(error == nil ? end?.token : nil, error)
    }
}

/// Marks notifications as read, and notifies the user's other devices.
///
/// Unchecked: see ``CKOperation``.
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Marks notifications as read.
    public convenience init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
        self.init()
        self.notificationIDs = notificationIDs
    }

    /// The notifications.
    open var notificationIDs: [CKNotification.ID] = []

    /// Called at the end, with those that were marked.
    open var markNotificationsReadCompletionBlock: (([CKNotification.ID]?, (any Error)?) -> Void)?

    private var marked: [CKNotification.ID]?

    override func perform(_ session: Session) async throws(CKError) {
        let ids = notificationIDs
        let names = ids.map(\.text)
        // Needs no request id, although it writes: marking a notification again changes nothing.
        let results = try await session.call { (service, caller) async throws(SyncError) in
            try await service.markNotificationsRead(names, as: caller)
        }
        var errors: [AnyHashable: any Error] = [:]
        for (id, result) in zip(ids, results) { errors[id] = result.error.map { CKError($0) } }
        marked = ids.filter { errors[$0] == nil }
        if let error = CKError.ofItems(errors) { throw error }
    }

    override func complete(_ error: (any Error)?) {
        markNotificationsReadCompletionBlock?(marked, error)
    }
}

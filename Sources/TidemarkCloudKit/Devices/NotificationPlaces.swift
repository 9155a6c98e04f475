// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The position of a device in its users' notifications, and the badge it shows; kept across
/// restarts.
struct NotificationPlaces: Sendable {
    private let places: KeptValues
    private let badges: KeptValues

    init(_ folder: DeviceFolder) {
        places = KeptValues("notifications", in: folder)
        badges = KeptValues("badges", in: folder)
    }

    /// Returns the caller's notifications that the device has not received.
    ///
    /// If the device has never received any, or its token has expired, the notifications begin now.
    func notifications(
        of service: any DatabaseService,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
        if let place = place(of: caller) {
            do throws(SyncError) {
                // The feed itself sends no request before iteration begins.
                // One notification is enough to learn if the token has expired.
                let next = NotificationChangesRequest(since: place, limit: 1)
                _ = try await service.notificationChanges(next, as: caller)
                return try await service.notifications(since: place, as: caller)
            } catch {
                guard error.code == .changeTokenExpired else { throw error }
            }
        }
        let now = try await service.notificationToken(as: caller)
        // Stored before the feed begins: if the process ends before the first notification, the
        // next one resumes here and misses nothing.
        take(now, of: caller)
        return try await service.notifications(since: now, as: caller)
    }

    private func place(of caller: Caller) -> ChangeToken? {
        places[caller.placeName].flatMap { ChangeToken(String(decoding: $0, as: UTF8.self)) }
    }

    /// Records that the device has received everything up to a token.
    func take(_ token: ChangeToken, of caller: Caller) {
        places.change { $0[caller.placeName] = Data(token.description.utf8) }
    }

    /// Returns the app's badge after one more notification that changes it.
    func nextBadge(of caller: Caller) -> Int {
        let key = caller.placeName
        let badge = badges[key].flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
        // The number counts notifications that were passed to the handler. If the process ends
        // before the place is stored, one of them is counted twice.
        setBadge(badge + 1, of: caller)
        return badge + 1
    }

    /// Sets the number that the app's badge shows.
    func setBadge(_ badge: Int, of caller: Caller) {
        badges.change { $0[caller.placeName] = Data("\(badge)".utf8) }
    }
}

extension Caller {
    /// The name under which a device keeps the caller's state.
    var placeName: String {
        let user = user?.userRecordName ?? ""
        return "\(database.container.identifier)/\(database.environment)/\(user)"
    }
}

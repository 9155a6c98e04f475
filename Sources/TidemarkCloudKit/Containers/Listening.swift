// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkLock
import TidemarkModel

/// The events that one device receives from one container.
///
/// They are changes of its account, and notifications of its user's subscriptions.
final class Listening: Sendable {
    /// The device, for as long as others keep it.
    private typealias Owner = @Sendable () -> TidemarkDevice?

    let service: any DatabaseService
    private let beginning: Task<[Task<Void, Never>], Never>
    private let ending = End()

    /// The end of listening: after it, no more events are delivered.
    private final class End: Sendable {
        let isReached = Lock(false)
    }

    /// Begins to listen, without waiting for the service.
    ///
    /// Posts changes of the account; passes notifications to `handler`, if there is one.
    init(
        _ service: any DatabaseService,
        as caller: Caller,
        for device: TidemarkDevice,
        _ handler: TidemarkDevice.RemoteNotificationHandler?
    ) {
        self.service = service
        // The feeds wait for events and must not keep the device alive: its `deinit` ends them.
        let owner: Owner = { [weak device] in device }
        let end = ending
        // Detached, so that it does not inherit and retain the device that the code runs as.
        beginning = Task.detached(executorPreference: OwnThreads.shared) {
            // A failed first try does not hold up operations, which wait for this task: `feed`
            // tries again in the background.
            let statuses = try? await service.accountStatuses(as: caller)
            var feeds = [
                Self.feed(statuses) { () async throws(SyncError) in
                    try await service.accountStatuses(as: caller)
                } taking: { statuses, isAgain in
                    try await Self.post(statuses, isAgain, by: owner)
                }
            ]
            if let handler, caller.user != nil, let places = owner()?.places {
                // One for all feeds: the handler is called once at a time.
                let queue = DispatchQueue(label: "CloudKit.remoteNotifications")
                let pushes = try? await places.notifications(of: service, as: caller)
                feeds.append(
                    Self.feed(pushes) { () async throws(SyncError) in
                        try await places.notifications(of: service, as: caller)
                    } taking: { pushes, _ in
                        // The next feed begins behind what this one has delivered.
                        do {
                            try await Self.deliver(
                                pushes,
                                to: handler,
                                by: owner,
                                places,
                                as: caller,
                                on: queue,
                                end
                            )
                        } catch {
                            await withCheckedContinuation { continuation in
                                queue.async { continuation.resume() }
                            }
                            throw error
                        }
                    }
                )
            }
            return feeds
        }
    }

    /// Waits until nothing that happens from now on is missed.
    func hasBegun() async {
        _ = await beginning.value
    }

    /// Stops the delivery of events; later events are for the next listener.
    func end() {
        // The flag is effective at once. The tasks are known, and can be cancelled, only when
        // `beginning` has ended.
        ending.isReached.withLock { $0 = true }
        let beginning = beginning
        Task(executorPreference: OwnThreads.shared) {
            for feed in await beginning.value { feed.cancel() }
        }
    }

    /// Takes the elements of a stream, and of those that begin later if it fails or the first try has
    /// failed.
    private static func feed<Element: Sendable>(
        _ first: AsyncThrowingStream<Element, any Error>?,
        orLater begin:
            @escaping @Sendable () async throws(SyncError) -> AsyncThrowingStream<
                Element, any Error
            >,
        taking take:
            @escaping @Sendable (
                AsyncThrowingStream<Element, any Error>, _ isAgain: Bool
            ) async throws -> Void
    ) -> Task<Void, Never> {
        Task(executorPreference: OwnThreads.shared) {
            var first = first
            var hasTaken = false
            await keepHearing { () async throws(SyncError) in
                defer { first = nil }
                return if let first { first } else { try await begin() }
            } _: { stream, _ in
                defer { hasTaken = true }
                try await take(stream, hasTaken)
            }
        }
    }

    private static func post(
        _ statuses: AsyncThrowingStream<AccountStatus, any Error>,
        _ isAgain: Bool,
        by owner: Owner
    ) async throws {
        // The first status is the current one, not a change, unless a feed before has failed.
        var isFirst = !isAgain
        try await statuses.takeAll { _ in
            if !isFirst { owner()?.postAccountChanged() }
            isFirst = false
        }
    }

    private static func deliver(
        _ pushes: AsyncThrowingStream<Subscription.Push, any Error>,
        to handler: @escaping TidemarkDevice.RemoteNotificationHandler,
        by owner: Owner,
        _ places: NotificationPlaces,
        as caller: Caller,
        on queue: DispatchQueue,
        _ end: End
    ) async throws {
        try await pushes.takeAll { push in
            guard !Task.isCancelled else { return }
            let device = owner()
            // The handler is the program's and may block, so it does not run on `OwnThreads`.
            queue.async {
                // The task is cancelled some time after the end, and must not take events from the
                // next listener.
                if end.isReached.withLock(\.self) { return }
                let notification = push.notification
                let dictionary = notification.remoteDictionary(
                    badge: notification.content.badges ? places.nextBadge(of: caller) : 1
                )
                if let device {
                    device.run { handler(dictionary) }
                } else {
                    handler(dictionary)
                }
                // Stored after the handler has returned: a notification may be delivered twice, but
                // never skipped.
                places.take(push.token, of: caller)
            }
        }
    }
}

extension AsyncThrowingStream {
    /// Passes all elements to a closure, one after another.
    fileprivate func takeAll(_ body: (Element) -> Void) async throws {
        for try await element in self { body(element) }
    }
}

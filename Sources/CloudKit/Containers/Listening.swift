// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Tidemark

/// What one device hears of one container: changes of its account, and what its user has subscribed
/// to.
final class Listening: Sendable {
    let service: any DatabaseService
    private let beginning: Task<[Task<Void, Never>], Never>

    /// Begins to listen, without waiting for it.
    ///
    /// Changes of the account are posted; notifications go to `handler`, if there is one.
    init(
        _ service: any DatabaseService,
        as caller: Caller,
        for device: TidemarkDevice,
        _ handler: TidemarkDevice.RemoteNotificationHandler?
    ) {
        self.service = service
        // Detached, so as not to inherit the device that the code runs as, and keep it.
        beginning = Task.detached(executorPreference: OwnThreads.shared) { [weak device] in
            var feeds: [Task<Void, Never>] = []
            if let statuses = try? await service.accountStatuses(as: caller) {
                feeds.append(Self.post(statuses, by: device))
            }
            if let handler, caller.user != nil, let places = device?.places,
                let pushes = try? await places.notifications(of: service, as: caller)
            {
                feeds.append(Self.deliver(pushes, to: handler, by: device, places, as: caller))
            }
            return feeds
        }
    }

    /// Waits until nothing that happens from now on is missed.
    func hasBegun() async {
        _ = await beginning.value
    }

    /// Hears nothing more.
    func end() {
        let beginning = beginning
        Task(executorPreference: OwnThreads.shared) {
            for feed in await beginning.value { feed.cancel() }
        }
    }

    private static func post(
        _ statuses: AsyncThrowingStream<AccountStatus, any Error>,
        by device: TidemarkDevice?
    ) -> Task<Void, Never> {
        Task(executorPreference: OwnThreads.shared) { [weak device] in
            // The first is the status as it is, which is no change.
            var isFirst = true
            // A feed that fails has no more to say: the device hears again when its user changes.
            try? await statuses.takeAll { _ in
                if !isFirst { device?.postAccountChanged() }
                isFirst = false
            }
        }
    }

    private static func deliver(
        _ pushes: AsyncThrowingStream<Subscription.Push, any Error>,
        to handler: @escaping TidemarkDevice.RemoteNotificationHandler,
        by device: TidemarkDevice?,
        _ places: NotificationPlaces,
        as caller: Caller
    ) -> Task<Void, Never> {
        let queue = DispatchQueue(label: "CloudKit.remoteNotifications")
        return Task(executorPreference: OwnThreads.shared) { [weak device] in
            try? await pushes.takeAll { push in
                guard !Task.isCancelled else { return }
                let device = device
                queue.async {
                    let notification = push.notification
                    let dictionary = notification.remoteDictionary(
                        badge: notification.content.badges ? places.nextBadge(of: caller) : 1
                    )
                    if let device {
                        device.run { handler(dictionary) }
                    } else {
                        handler(dictionary)
                    }
                    places.take(push.token, of: caller)
                }
            }
        }
    }
}

extension AsyncThrowingStream {
    /// Hands over all that comes, one after another.
    fileprivate func takeAll(_ body: (Element) -> Void) async throws {
        for try await element in self { body(element) }
    }
}

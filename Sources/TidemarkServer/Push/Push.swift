// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Logging
import ServiceLifecycle
import Tidemark
import TidemarkModel
import TidemarkWire

/// The parts of a server that notify clients of changes: streams, couriers and webhooks.
struct Push: Sendable {
    let hub: ListenerHub
    let couriers: Couriers
    let webhooks: Webhooks

    init(
        _ store: Store,
        _ directory: Directory,
        _ options: ServerOptions,
        _ logger: Logger
    ) throws {
        hub = try ListenerHub(store, every: options.heartbeat, userLimit: options.listenersPerUser)
        couriers = Couriers(store, directory, hub)
        webhooks = try Webhooks((store, directory, hub), options, logger)
    }
}

/// Sends webhooks while the server runs, and ends all listening before the server waits for open
/// requests.
extension Push: Service {
    func run() async throws {
        try await begin()
        // This throws if the task is cancelled. The listeners must end in that case too.
        try? await gracefulShutdown()
        await end()
    }

    func begin() async throws {
        try await webhooks.begin()
    }

    func end() async {
        // Streams and couriers end first, while the tasks of the webhooks are awaited.
        hub.end()
        await webhooks.end()
    }
}

extension Caller {
    /// The database that holds the notifications of the caller's user.
    var notificationCollection: DatabaseID? {
        user.map { user in
            DatabaseID(
                container: database.container,
                environment: database.environment,
                scope: .private,
                owner: user
            )
        }
    }
}

extension PushPage.Line {
    /// The payload for a client, in JSON.
    var payload: [UInt8] {
        var payload = PushPayload(notification)
        // The change tag of the event: all notifications of one change have the same `nid`
        // (decision 18).
        if payload.name != nil { payload.name = change }
        payload.owner = notification.user.userRecordName
        return payload.json
    }
}
#endif

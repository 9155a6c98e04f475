// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Logging
import Tidemark
import TidemarkDatabase
import TidemarkLock
import TidemarkModel

/// Posts notifications to webhooks, each in its order, one task a webhook.
final class Webhooks: Sendable {
    private struct State {
        var tasks: [String: Task<Void, Never>] = [:]
        var isRunning = false
        /// The number of reloads that have begun.
        var reloadCount = 0
        /// The number of the latest reload that is in effect.
        var lastReload = 0
    }

    let store: Store
    let directory: Directory
    let hub: ListenerHub
    private let networks: [Network]
    private let patience: WebhookPatience
    private let logger: Logger
    private let state = Lock(State())

    init(
        _ push: (Store, Directory, ListenerHub),
        _ options: ServerOptions,
        _ logger: Logger
    ) throws {
        (store, directory, hub) = push
        networks = try options.webhookNetworks.map { try Network($0) }
        patience = options.webhookPatience
        self.logger = logger
    }

    /// Begins to post.
    func begin() async throws {
        state.withLock { $0.isRunning = true }
        try await reload()
    }

    /// Starts webhooks that were added, and waits until those that were removed have ended.
    @Sendable func reload() async throws {
        let number = state.withLock { state in
            state.reloadCount += 1
            return state.reloadCount
        }
        let wanted = try await directory.webhooks().map(\.value).filter { !$0.isDisabled }
        let ids = Set(wanted.map(\.id.text))
        let ended = state.withLock { state -> [Task<Void, Never>] in
            // A reload that began later has read all that this one could. What this one has read may
            // lack webhooks that have been started since.
            guard number > state.lastReload else { return [] }
            state.lastReload = number
            let ended = state.tasks.filter { !ids.contains($0.key) }.map(\.value)
            state.tasks = state.tasks.filter { ids.contains($0.key) }
            if state.isRunning {
                for webhook in wanted where state.tasks[webhook.id.text] == nil {
                    state.tasks[webhook.id.text] = Task { await self.post(webhook) }
                }
            }
            return ended
        }
        for task in ended { task.cancel() }
        for task in ended { await task.value }
    }

    /// Ends without waiting for answers: unconfirmed notifications are posted again after the next
    /// start.
    func end() async {
        // `isRunning` becomes false in the same step, so that a concurrent `reload` starts no task
        // that nobody ends.
        let tasks = state.withLock { state in
            state.isRunning = false
            defer { state.tasks = [:] }
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    /// Posts the notifications of a webhook until the task is cancelled or the webhook is disabled.
    private func post(_ webhook: Webhook) async {
        // The listener is added before the first read. A notification that is committed between a
        // read and the wait leaves a mark, and the wait returns at once.
        guard let caller = webhook.caller, let collection = caller.notificationCollection else {
            return logger.error("webhook", metadata: ["webhook": "\(webhook.id.text)"])
        }
        guard let listener = await listener(for: collection, webhook) else { return }
        defer { hub.remove(listener) }
        var webhook = webhook
        var failures = 0
        while !Task.isCancelled, !webhook.isDisabled {
            do {
                if try await postNext(&webhook, as: caller) {
                    failures = 0
                } else if await listener.takeMarks().contains(.end) {
                    return
                }
            } catch {
                if Task.isCancelled || error is CancellationError { return }
                failures += 1
                await note(error, &webhook)
                let pause = patience.pause(after: failures)
                if !webhook.isDisabled { try? await Task.sleep(for: pause) }
            }
        }
    }

    /// Returns a listener, once the user may have one more; `nil` if the server or the webhook
    /// stops.
    private func listener(for collection: DatabaseID, _ webhook: Webhook) async -> Listener? {
        var isFirst = true
        while !Task.isCancelled {
            do throws(ListenerHub.Refusal) {
                return try hub.add(for: collection)
            } catch {
                guard error == .tooMany else { return nil }
            }
            if isFirst {
                logger.warning(
                    "webhook",
                    metadata: [
                        "webhook": "\(webhook.id.text)",
                        "failure": "The user has too many open streams and couriers",
                    ]
                )
            }
            isFirst = false
            try? await Task.sleep(for: patience.pause(after: 1))
        }
        return nil
    }

    /// Posts the next notification, and records that it was accepted; false if there is none.
    private func postNext(_ webhook: inout Webhook, as caller: Caller) async throws -> Bool {
        guard let start = ChangeToken(webhook.position) else { return false }
        let page: PushPage
        do throws(SyncError) {
            page = try await self.page(after: start, as: caller)
        } catch {
            guard error.code == .changeTokenExpired else { throw error }
            // The receiver missed some; it receives the next ones.
            webhook.position = try await store.notificationToken(as: caller).description
            try await save(webhook)
            return true
        }
        guard let line = page.lines.first else { return false }
        if let key = webhook.key, try await directory.key(key) == nil {
            throw CheckedRequest.Failure(description: "The key \(key) was revoked.")
        }
        // The id depends only on the webhook and the position. After a stop between the post and
        // the save, the receiver gets the same id and can detect the repetition.
        let name = [UInt8].sha256("\(webhook.id.text) \(line.token)").prefix(16).hexadecimal
        let request = WebhookPost(
            url: webhook.url,
            id: "msg_" + name,
            time: Clock.now() / 1000,
            body: line.payload
        )
        try await request.send(
            signedWith: directory.webhookKey(of: webhook),
            allowing: networks
        )
        webhook.position = line.token.description
        webhook.failingSince = 0
        webhook.failure = ""
        try await save(webhook)
        return true
    }

    /// Returns a page with the next notification, empty if there is none.
    private func page(
        after token: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> PushPage {
        var page = try await store.pushes(since: token, limit: 1, as: caller)
        while page.lines.isEmpty, page.moreComing {
            page = try await store.pushes(since: page.token, limit: 1, as: caller)
        }
        return page
    }

    /// Records a failed attempt, and gives up after a day.
    private func note(_ error: any Error, _ webhook: inout Webhook) async {
        let now = Clock.now()
        let before = webhook
        if webhook.failingSince == 0 { webhook.failingSince = now }
        webhook.failure = String("\(error)".prefix(200))
        webhook.isDisabled = now - webhook.failingSince >= patience.limit.inMilliseconds
        logger.warning(
            "webhook",
            metadata: [
                "webhook": "\(webhook.id.text)", "failure": "\(webhook.failure)",
                "disabled": "\(webhook.isDisabled)",
            ]
        )
        let isNews =
            before.failingSince != webhook.failingSince || before.failure != webhook.failure
            || before.isDisabled != webhook.isDisabled
        if isNews { try? await save(webhook) }
    }

    /// Saves how far a webhook is; throws `CancellationError` if the webhook was removed.
    ///
    /// The save is conditional: a removal in the meantime must not be undone.
    private func save(_ webhook: Webhook) async throws {
        do {
            try await directory.registry.webhooks.update(Webhook.self, webhook.id) {
                $0.position = webhook.position
                $0.failingSince = webhook.failingSince
                $0.failure = webhook.failure
                $0.isDisabled = webhook.isDisabled
            }
        } catch let error as SyncError where error.code == .unknownItem {
            throw CancellationError()
        }
    }
}
#endif

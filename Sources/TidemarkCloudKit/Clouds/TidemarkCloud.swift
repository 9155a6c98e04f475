// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkLock
public import TidemarkModel

/// The service behind containers: a store in this process, a server, or any other service.
///
/// A store or server is opened at the first request, once for all devices of one cloud.
public final class TidemarkCloud: Sendable {
    /// The source of the service.
    package enum Place: Sendable {
        /// A source that is opened at the first request.
        case source(any CloudSource)
        /// Something that is open already.
        case service(any DatabaseService)
        /// No service; every call fails with this error.
        case nowhere(SyncError)
    }

    private enum Opened: Sendable {
        case not
        case opening(Task<Result<any DatabaseService, SyncError>, Never>)
        case closed
    }

    /// The names that a user has in containers.
    public enum UserNames: String, Sendable {
        /// One in all containers: the account's.
        case same
        /// One name in each container, derived from the account's name (`UserID(account:in:)`), as
        /// on Apple's systems.
        ///
        /// A container that already has zones, subscriptions or an account under the account's own
        /// name, and none under the derived name, keeps the account's name.
        case perContainer
    }

    private struct ContainerUser: Hashable {
        let account: UserID
        let container: ContainerID
    }

    /// The names that the users of its devices have in containers.
    public let userNames: UserNames
    package let place: Place
    private let opened = Lock(Opened.not)
    /// The names that were looked up: a name does not change while the store is open.
    private let names = Lock<[ContainerUser: UserID]>([:])

    package init(_ place: Place, userNames: UserNames = .same) {
        self.place = place
        self.userNames = userNames
    }

    /// Returns the record name of an account's user in a container.
    ///
    /// Opens the store or server if it is not open, and throws the error of opening it.
    public func userRecordName(
        of account: String,
        in container: String
    ) async throws(SyncError) -> String {
        try await user(UserID(account), in: ContainerID(container)).userRecordName
    }

    /// Returns the user that an account has in a container.
    func user(_ account: UserID, in container: ContainerID) async throws(SyncError) -> UserID {
        guard case .source(let source) = place else { return account }
        let key = ContainerUser(account: account, container: container)
        if let known = names.withLock({ $0[key] }) { return known }
        // Without the lock: the lookup may have to open the store.
        let name = try await source.user(account, in: container) { () async throws(SyncError) in
            try await service()
        }
        return names.withLock { names in
            // The first answer wins: two devices of one account may request the name at the same
            // time.
            if let known = names[key] { return known }
            names[key] = name
            return name
        }
    }

    /// Creates a cloud for any service.
    ///
    /// Users have the account's name in all of its containers.
    public convenience init(_ service: any DatabaseService) {
        self.init(.service(service))
    }

    deinit {
        _ = end()
    }

    /// Returns the service, and opens the store if it is not open.
    ///
    /// Throws `serviceUnavailable` if another process keeps the store open for longer than five
    /// seconds, and any other error that opening the store throws. The next call tries again.
    public func service() async throws(SyncError) -> any DatabaseService {
        let opening: Task<Result<any DatabaseService, SyncError>, Never>
        switch place {
        case .service(let service): return service
        case .nowhere(let error): throw error
        case .source(let source):
            opening = try beginOpening(source).get()
        }
        // All callers wait for the same task: a store has one writer, which is opened once.
        let result = await opening.value
        if case .failure = result {
            opened.withLock { opened in
                // Only the failed try is cleared. Meanwhile another caller may have begun the next
                // one, or closed the cloud.
                if case .opening(opening) = opened { opened = .not }
            }
        }
        return try result.get()
    }

    private func beginOpening(
        _ source: any CloudSource
    ) -> Result<Task<Result<any DatabaseService, SyncError>, Never>, SyncError> {
        opened.withLock { opened in
            switch opened {
            case .opening(let task): return .success(task)
            case .closed:
                return .failure(
                    SyncError(.serviceUnavailable, "The \(source.title) was closed.")
                )
            case .not:
                let task = Task(executorPreference: OwnThreads.shared) {
                    await source.open()
                }
                opened = .opening(task)
                return .success(task)
            }
        }
    }

    /// Closes the store or the connections, and removes a temporary store.
    ///
    /// Later calls fail. A service that was passed in stays open: its creator closes it. If a
    /// program ends without closing, nothing is lost: the next open recovers the store.
    public func close() async {
        await end()?.value
    }

    /// Begins to close the store, which may wait for the disk, and for a pending open.
    private func end() -> Task<Void, Never>? {
        guard case .source(let source) = place else { return nil }
        let before = opened.withLock { opened in
            defer { opened = .closed }
            return opened
        }
        let opening: Task<Result<any DatabaseService, SyncError>, Never>
        switch before {
        case .opening(let task): opening = task
        case .not:
            // Also after an open that failed: it may have left files.
            source.remove()
            return nil
        case .closed: return nil
        }
        // Also waits for an open that is in progress: otherwise its store would stay open. `deinit`
        // does not wait for this task, which therefore captures the source and not the cloud.
        return Task(executorPreference: OwnThreads.shared) {
            if case .success(let service) = await opening.value { await source.close(service) }
            source.remove()
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
public import Tidemark
import TidemarkLock

/// What containers point at: a store on disk, a store that goes when nobody uses it any more, or any
/// other service.
///
/// A store is opened when it is first asked for something, once for all devices of one cloud.
public final class TidemarkCloud: Sendable {
    /// What is asked.
    enum Place: Sendable {
        /// A store, made if it is not there.
        case store(path: String, options: StoreOptions, isTemporary: Bool)
        /// Something that is open already.
        case service(any DatabaseService)
        /// Nothing; every call fails with this.
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
        /// One in each container, made of the account's name (`UserID(account:in:)`), as on Apple's systems.
        ///
        /// A container that already has zones, subscriptions or an account under the account's own name, and
        /// nothing under the other, keeps the account's name.
        case perContainer
    }

    private struct ContainerUser: Hashable {
        let account: UserID
        let container: ContainerID
    }

    /// The names that the users of its devices have in containers.
    public let userNames: UserNames
    let place: Place
    private let opened = Lock(Opened.not)
    /// Names that were looked up: a name stays what it is as long as the store is open.
    private let names = Lock<[ContainerUser: UserID]>([:])

    init(_ place: Place, userNames: UserNames = .same) {
        self.place = place
        self.userNames = userNames
    }

    /// The name of the record of an account's user in a container.
    ///
    /// Opens the store if that has not been done, and throws what keeps it from being opened.
    public func userRecordName(
        of account: String,
        in container: String
    ) async throws(SyncError) -> String {
        try await user(UserID(account), in: ContainerID(container)).userRecordName
    }

    /// The user that an account has in a container; the one user that every store has is the same in all.
    func user(_ account: UserID, in container: ContainerID) async throws(SyncError) -> UserID {
        guard userNames == .perContainer, account != .current else { return account }
        let key = ContainerUser(account: account, container: container)
        if let known = names.withLock({ $0[key] }) { return known }
        guard let store = try await service() as? Store else { return account }
        let name = try Self.name(of: account, in: container, store)
        return names.withLock { names in
            // The first answer holds: two devices of one account may ask at the same time.
            if let known = names[key] { return known }
            names[key] = name
            return name
        }
    }

    private static func name(
        of account: UserID,
        in container: ContainerID,
        _ store: Store
    ) throws(SyncError) -> UserID {
        let own = UserID(account: account.userRecordName, in: container)
        if try store.hasUser(own, of: container) { return own }
        return try store.hasUser(account, of: container) ? account : own
    }

    /// Points at a store on disk, which is made if it is not there.
    ///
    /// One process at a time writes a store. If another one has it open, the first call waits for up to
    /// five seconds, and then fails with `serviceUnavailable` and a time after which to retry.
    public convenience init(
        storeAt path: String,
        options: StoreOptions = StoreOptions(),
        userNames: UserNames = .perContainer
    ) {
        self.init(
            .store(path: path, options: options, isTemporary: false),
            userNames: userNames
        )
    }

    /// Points at any service.
    ///
    /// Users have the account's name in all of its containers.
    public convenience init(_ service: any DatabaseService) {
        self.init(.service(service))
    }

    /// Points at a new store in the folder for temporary files, for tests.
    ///
    /// It is removed when it is closed, when its devices and containers are gone, or when the process exits.
    /// What a process that was killed has left is removed by the next one.
    ///
    /// Unless `options` say otherwise, nothing waits for the disk.
    public static func temporary(
        options: StoreOptions? = nil,
        userNames: UserNames = .perContainer
    ) -> TidemarkCloud {
        var quick = StoreOptions()
        quick.durability = .none
        AbandonedStores.sweepOnce
        let path = AbandonedStores.newPath(in: NSTemporaryDirectory())
        TemporaryPaths.ofProcess.add(path)
        return TidemarkCloud(
            .store(path: path, options: options ?? quick, isTemporary: true),
            userNames: userNames
        )
    }

    deinit {
        _ = end()
    }

    /// What answers; opens the store if that has not been done.
    ///
    /// Throws `serviceUnavailable` if another process keeps the store for longer than five seconds, and
    /// what else keeps it from being opened. The next call tries again.
    public func service() async throws(SyncError) -> any DatabaseService {
        let opening: Task<Result<any DatabaseService, SyncError>, Never>
        switch place {
        case .service(let service): return service
        case .nowhere(let error): throw error
        case .store(let path, let options, _):
            opening = try beginOpening(path, options).get()
        }
        let result = await opening.value
        if case .failure = result {
            opened.withLock { opened in
                if case .opening(opening) = opened { opened = .not }
            }
        }
        return try result.get()
    }

    private func beginOpening(
        _ path: String,
        _ options: StoreOptions
    ) -> Result<Task<Result<any DatabaseService, SyncError>, Never>, SyncError> {
        opened.withLock { opened in
            switch opened {
            case .opening(let task): return .success(task)
            case .closed:
                return .failure(SyncError(.serviceUnavailable, "The cloud at \(path) was closed."))
            case .not:
                let task = Task(executorPreference: OwnThreads.shared) {
                    await StoreDoor(path: path, options: options).open()
                }
                opened = .opening(task)
                return .success(task)
            }
        }
    }

    /// Closes the store, and removes it if it is a temporary one.
    ///
    /// Later calls fail. A service is left as it is: whoever made it closes it. A program that ends
    /// without closing loses nothing; its store is recovered when it is opened again.
    public func close() async {
        await end()?.value
    }

    /// Begins to close the store: that may wait for the disk, and for an opening that is under way.
    private func end() -> Task<Void, Never>? {
        guard case .store(let path, _, let isTemporary) = place else { return nil }
        let before = opened.withLock { opened in
            defer { opened = .closed }
            return opened
        }
        guard case .opening(let opening) = before else { return nil }
        return Task(executorPreference: OwnThreads.shared) {
            if case .success(let service) = await opening.value, let store = service as? Store {
                try? store.close()
            }
            if isTemporary { TemporaryPaths.ofProcess.remove(path) }
        }
    }
}

/// Opens a store for writing, and waits while somebody else has it.
private struct StoreDoor {
    let path: String
    let options: StoreOptions

    /// How long a store that another process has open is waited for.
    private static let patience = Duration.seconds(5)

    func open() async -> Result<any DatabaseService, SyncError> {
        let end = ContinuousClock.now + Self.patience
        while true {
            do throws(LogError) {
                try makeFolder()
                return .success(try Store.open(at: path, access: .creating, options: options))
            } catch {
                guard error.code == .locked, ContinuousClock.now < end else {
                    return .failure(refusal(error))
                }
            }
            await pause(seconds: 0.05)
        }
    }

    private func makeFolder() throws(LogError) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true
            )
        } catch {
            throw LogError(
                .unreadable,
                "The folder could not be made: \(error).",
                path: folder.path
            )
        }
    }

    private func refusal(_ error: LogError) -> SyncError {
        let text = "The store at \(path) could not be opened: \(error.message)"
        return switch error.code {
        case .locked: SyncError(.serviceUnavailable, text, retryAfter: .seconds(5))
        case .full: SyncError(.quotaExceeded, text)
        case .newerVersion: SyncError(.incompatibleVersion, text)
        default: SyncError(.internalError, text)
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkCloudKit

/// A store that this process opens, and is the only writer of.
struct EmbeddedStore: CloudSource {
    let path: String
    let options: StoreOptions
    /// True if the store is removed when it is no longer used.
    let isTemporary: Bool
    let userNames: TidemarkCloud.UserNames

    /// The time that a store is waited for that another process has open.
    private static let patience = Duration.seconds(5)

    var title: String { "store at \(path)" }

    var deviceFolder: URL? {
        let store = URL(fileURLWithPath: path, isDirectory: true)
        // Inside a temporary store, so that it goes with it.
        return isTemporary
            ? store.appendingPathComponent("devices", isDirectory: true)
            : store.deletingPathExtension().appendingPathExtension("devices")
    }

    func open() async -> Result<any DatabaseService, SyncError> {
        let end = ContinuousClock.now + Self.patience
        while true {
            do throws(LogError) {
                try makeFolder()
                return .success(try Store.open(at: path, access: .creating, options: options))
            } catch {
                // Only a lock passes by itself, such as that of a program that is just ending.
                guard error.code == .locked, ContinuousClock.now < end else {
                    return .failure(refusal(error))
                }
            }
            // The system reports no release of another process's lock, so the store is tried again.
            await pause(seconds: 0.05)
        }
    }

    func close(_ service: any DatabaseService) async {
        // A store that cannot be closed is recovered when it is opened again.
        try? (service as? Store)?.close()
    }

    func remove() {
        if isTemporary { TemporaryPaths.ofProcess.remove(path) }
    }

    /// Returns the user's own name in the container, or the account's name if the container only
    /// knows that.
    ///
    /// The default user, which every store has, is the same in all containers.
    func user(
        _ account: UserID,
        in container: ContainerID,
        asking service: () async throws(SyncError) -> any DatabaseService
    ) async throws(SyncError) -> UserID {
        guard userNames == .perContainer, account != .current,
            let store = try await service() as? Store
        else { return account }
        let own = UserID(account: account.userRecordName, in: container)
        // The derived name takes precedence. The account's own name is for containers that know
        // only it.
        if try store.hasUser(own, of: container) { return own }
        return try store.hasUser(account, of: container) ? account : own
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
                "The folder could not be created: \(error). Check that the one above it can be written.",
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

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
package import TidemarkModel

/// The source of a cloud's service, a store or a server, which is opened at the first request.
package protocol CloudSource: Sendable {
    /// The words for it in errors, as `store at notes.tide`.
    var title: String { get }

    /// The folder for the state of devices; `nil` for a temporary one that the process removes.
    var deviceFolder: URL? { get }

    /// Opens the source; an error contains the remedy.
    func open() async -> Result<any DatabaseService, SyncError>

    /// Closes a service that ``open()`` returned.
    func close(_ service: any DatabaseService) async

    /// Removes temporary files when the source is no longer used, even if it was never opened.
    func remove()

    /// Returns the name of an account's user in a container; opens the service only if it must.
    func user(
        _ account: UserID,
        in container: ContainerID,
        asking service: () async throws(SyncError) -> any DatabaseService
    ) async throws(SyncError) -> UserID
}

/// An object that opens stores in this process: the module CloudKit, if the program is linked with
/// it.
package protocol EmbeddedStores: AnyObject, Sendable {
    /// Creates a cloud for a store on disk, and creates the store if it does not exist.
    func cloud(storeAt path: String, userNames: TidemarkCloud.UserNames) -> TidemarkCloud
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
package import TidemarkModel

/// A place behind a cloud that is opened when the cloud is first asked for something: a store, or a
/// server.
package protocol CloudSource: Sendable {
    /// The words for it in errors, as `store at notes.tide`.
    var title: String { get }

    /// The folder for what devices keep; `nil` for one that goes with the process.
    var deviceFolder: URL? { get }

    /// Opens it; fails with an error that says what to do.
    func open() async -> Result<any DatabaseService, SyncError>

    /// Closes a service that ``open()`` made.
    func close(_ service: any DatabaseService) async

    /// Removes what is left when nobody uses it any more, whether it was opened or not.
    func remove()

    /// Returns the name that an account's user has in a container; opens the service only where it
    /// has to be asked.
    func user(
        _ account: UserID,
        in container: ContainerID,
        asking service: () async throws(SyncError) -> any DatabaseService
    ) async throws(SyncError) -> UserID
}

/// An object that opens stores in this process: the module CloudKit, where a program is linked with
/// it.
package protocol EmbeddedStores: AnyObject, Sendable {
    /// Points at a store on disk, which is made if it is not there.
    func cloud(storeAt path: String, userNames: TidemarkCloud.UserNames) -> TidemarkCloud
}

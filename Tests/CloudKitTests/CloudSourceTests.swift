// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TidemarkModel

@testable import TidemarkCloudKit

@Suite struct CloudSourceTests {
    /// A source that cannot be opened, such as a store on a full disk.
    private struct FailingSource: CloudSource {
        let removals = Heard<String>()
        let title = "store on a full disk"
        let deviceFolder: URL? = nil

        func open() async -> Result<any DatabaseService, SyncError> {
            .failure(SyncError(.quotaExceeded, "The disk is full."))
        }

        func close(_ service: any DatabaseService) async {}

        func remove() { removals.add(title) }

        func user(
            _ account: UserID,
            in container: ContainerID,
            asking service: () async throws(SyncError) -> any DatabaseService
        ) async throws(SyncError) -> UserID { account }
    }

    @Test(arguments: [false, true])
    func `A source that could not be opened is removed all the same`(isOpened: Bool) async throws {
        let source = FailingSource()
        let cloud = TidemarkCloud(.source(source))
        if isOpened {
            await #expect(throws: SyncError.self) { _ = try await cloud.service() }
        }
        await cloud.close()
        await cloud.close()
        #expect(source.removals.items.count == 1)
    }
}

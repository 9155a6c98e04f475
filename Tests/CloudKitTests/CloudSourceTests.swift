// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TidemarkModel

@testable import TidemarkCloudKit

#if Client
import TidemarkClient
import TidemarkWire
#endif

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

    #if Client
    @Test func `The cloud of a server uses the options of a connection`() async throws {
        let (waits, continuation) = AsyncStream.makeStream(of: Duration.self)
        var options = ConnectionOptions()
        options.patience = Patience(repetitions: 2, wait: { continuation.yield($0) })
        // Nothing listens at this port.
        let cloud = TidemarkCloud(
            serverAt: "http://127.0.0.1:1",
            apiToken: "token",
            options: options
        )
        let service = try await cloud.service()
        let error = try await #require(throws: SyncError.self) {
            try await service.zones(as: Caller())
        }
        #expect(error.code == .networkUnavailable)
        await cloud.close()
        continuation.finish()
        var count = 0
        for await _ in waits { count += 1 }
        #expect(count == 2)
    }
    #endif
}

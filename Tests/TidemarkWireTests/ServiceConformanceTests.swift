// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ServiceConformance
import Testing

/// The promises of a `DatabaseService`, on the ways to a store that need no network.
@Suite struct ServiceConformanceTests {
    @Test(arguments: ServiceHost.allCases, ServicePromise.allCases)
    func `The service keeps its promises`(host: ServiceHost, promise: ServicePromise) async throws {
        try await promise.check(try host.open())
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import TidemarkServer

/// Addresses that an operator writes, and those that the server names.
@Suite struct AddressTests {
    @Test(arguments: [
        "https://example.org", "http://localhost:3000", "https://example.org:8443",
        "http://127.0.0.1:8080", "http://[::1]:8080",
        "https://[2001:db8::1]", "http://example.org:443", "https://example.org:80",
    ])
    func `An origin as browsers send it is accepted`(origin: String) throws {
        try Origin.check(origin)
    }

    @Test(arguments: [
        "https://example.org/", "https://Example.org", "https://example.org:443",
        "http://example.org:80", "example.org", "ftp://example.org", "https://", "",
        "https://user@example.org", "https://example.org/path", "https://[2001:DB8::1]",
        "https://*.example.org",
    ])
    func `A text that browsers never send as an origin is rejected`(origin: String) {
        let error = #expect(throws: SyncError.self) { try Origin.check(origin) }
        #expect(error?.code == .invalidArguments)
    }

    @Test(arguments: [
        ("127.0.0.1", "http://localhost:8080"), ("::", "http://localhost:8080"),
        ("example.org", "http://example.org:8080"),
        ("2001:db8::1", "http://[2001:db8::1]:8080"),
    ])
    func `The server's address has brackets around one of IPv6`(host: String, address: String) {
        var options = ServerOptions()
        options.host = host
        #expect(options.address(port: 8080) == address)
    }
}

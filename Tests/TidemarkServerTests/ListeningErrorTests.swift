// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Testing
import TidemarkModel

@testable import TidemarkServer

/// Errors of a server that cannot listen.
@Suite struct ListeningErrorTests {
    @Test(arguments: [
        (EADDRINUSE, "Another program listens on port 80 of 192.0.2.7."),
        (EACCES, "The user of this process may not listen on port 80 of 192.0.2.7."),
        (
            EADDRNOTAVAIL,
            "The server cannot listen on 192.0.2.7, which is no address of this machine."
        ),
    ])
    func `An error of the system says what to do`(code: CInt, text: String) throws {
        var options = ServerOptions()
        options.host = "192.0.2.7"
        options.port = 80
        let error = try #require(options.refusal(code))
        #expect(error.message == text)
        #expect(options.refusal(EIO) == nil)
    }
}
#endif

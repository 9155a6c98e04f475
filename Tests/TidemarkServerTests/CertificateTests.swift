// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TestSupport
import Testing
import TidemarkModel

@testable import TidemarkServer

/// Log lines about the files of the certificate while the server runs.
@Suite struct CertificateTests {
    private func makeCertificate(_ key: String, _ certificate: String) throws {
        _ = try shell(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                + "-subj /CN=localhost -keyout '\(key)' -out '\(certificate)' 2>/dev/null"
        )
    }

    @Test func `Files that cannot be used are logged once`() throws {
        let folder = try ScratchFolder()
        let (key, certificate) = (folder.path("key.pem"), folder.path("chain.pem"))
        try makeCertificate(key, certificate)
        var options = ServerOptions()
        options.certificate = certificate
        options.privateKey = key
        let lines = Lines()
        let reloader = try #require(try options.certificateReloader(lines.logger))
        try reloader.reload()
        #expect(lines.all.isEmpty)
        // A renewal that wrote the certificate and not its key.
        try makeCertificate(folder.path("other.pem"), certificate)
        for _ in 1...3 {
            #expect(throws: (any Error).self) { try reloader.reload() }
        }
        #expect(lines.all.count == 1)
        let line = try #require(lines.all.first)
        #expect(line["level"] as? String == "warning")
        #expect(line["message"] as? String == "certificate")
        #expect(line["certificate"] as? String == certificate)
        #expect(line["privateKey"] as? String == key)
        // Another failure is news, and so is a failure after a success.
        try FileManager.default.removeItem(atPath: certificate)
        #expect(throws: (any Error).self) { try reloader.reload() }
        #expect(lines.all.count == 2)
        try makeCertificate(key, certificate)
        try reloader.reload()
        try FileManager.default.removeItem(atPath: certificate)
        #expect(throws: (any Error).self) { try reloader.reload() }
        #expect(lines.all.count == 3)
    }
}
#endif

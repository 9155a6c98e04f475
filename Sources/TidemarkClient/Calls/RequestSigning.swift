// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
import Crypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The signatures of requests that CloudKit Web Services require from servers.
enum RequestSigning {
    /// Returns the headers that sign a body for a path, now.
    static func headers(
        keyID: String,
        _ key: P256.Signing.PrivateKey,
        path: String,
        body: [UInt8]
    ) -> [(name: String, value: String)] {
        let date = Date().formatted(.iso8601)
        // The form is Apple's: date, hash of the body and path, with colons between. The server
        // accepts a date within ten minutes of its clock, so the clock of this machine must be
        // right.
        let hash = Data(SHA256.hash(data: body)).base64EncodedString()
        // Signing with a key in memory does not fail.
        let signature = try? key.signature(for: Data("\(date):\(hash):\(path)".utf8))
        return [
            ("X-Apple-CloudKit-Request-KeyID", keyID),
            ("X-Apple-CloudKit-Request-ISO8601Date", date),
            (
                "X-Apple-CloudKit-Request-SignatureV1",
                signature?.derRepresentation.base64EncodedString() ?? ""
            ),
        ]
    }
}
#endif

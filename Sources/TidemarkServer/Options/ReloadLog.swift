// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Logging
import TidemarkLock
import TidemarkModel

/// Logs that the files of the certificate cannot be used.
///
/// The files are read every few seconds. Files that stay as they are get one line, not one for each
/// time that they are read.
final class ReloadLog: Sendable {
    private let logger: Logger
    private let certificate: String
    private let privateKey: String
    /// The failure that was logged last; `nil` after a success.
    private let failure = Lock<String?>(nil)

    init(_ logger: Logger, certificate: String, privateKey: String) {
        self.logger = logger
        self.certificate = certificate
        self.privateKey = privateKey
    }

    /// Logs a failure, unless it was logged last.
    func note(_ error: any Error) {
        let text = "\(error)"
        let isKnown = failure.withLock { failure in
            defer { failure = text }
            return failure == text
        }
        if isKnown { return }
        logger.warning(
            "certificate",
            metadata: [
                "failure": """
                The certificate cannot be read again, and the old one stays in use. Give a \
                certificate and its private key in PEM.
                """,
                "cause": "\(text)", "certificate": "\(certificate)", "privateKey": "\(privateKey)",
            ]
        )
    }

    /// Logs that new files are in use.
    func noteSuccess() {
        failure.withLock { $0 = nil }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkModel

/// The tokens by which requests name a session.
extension Directory {
    /// Returns a token of a session: derived, so that handing one out writes nothing.
    func webToken(of session: Session) -> String {
        let now = Clock.now()
        let isStrict = isStrict(session)
        let (issued, known) = uses.withLock { uses in
            let issued = isStrict ? uses.nextToken(of: session, now: now) : now
            return (issued, uses.token(of: session, issued: issued))
        }
        // A client with many requests at once gets several answers within a millisecond.
        if let known { return known }
        var token = Array(session.id.text.utf8)
        Swift.withUnsafeBytes(of: issued.bigEndian) { token.append(contentsOf: $0) }
        token.append(contentsOf: secret.code(of: token, for: "web token").prefix(16))
        let text = token.base64URL
        // A client that uses each token once sends this one next.
        signedTokens.keep((session.id.text, issued), of: text)
        uses.withLock { $0.keep(text, issued: issued, of: session) }
        return text
    }

    /// True if each token of a session is good once; on the account page a person may have several
    /// tabs open.
    private func isStrict(_ session: Session) -> Bool {
        rotation == .strict && session.container != Registry.container.identifier
    }

    /// Returns the session of a valid token; `nil` for any other text.
    ///
    /// The tokens of a session stay valid as long as one of them was used within the session's
    /// lifetime.
    func session(ofWebToken text: String) async throws -> Session? {
        guard let (id, issued) = content(ofWebToken: text), let session = try await session(id)
        else { return nil }
        let now = Clock.now()
        let isStrict = isStrict(session)
        let isGood = uses.withLock {
            $0.take(issued, of: session, isStrict: isStrict, now: now)
        }
        return isGood ? session : nil
    }

    /// Returns the session and the time in a web token; `nil` if this server did not sign it.
    private func content(ofWebToken text: String) -> (session: String, issued: Int64)? {
        // The key stays the same while the server runs, so a signature stays right.
        if let known = signedTokens[text] { return known }
        guard let bytes = [UInt8](base64URL: text), bytes.count == 32 + 8 + 16 else { return nil }
        let head = bytes[..<40]
        let code = secret.code(of: head, for: "web token").prefix(16)
        guard code.isSame(as: bytes[40...]) else { return nil }
        let session = String(decoding: bytes[..<32], as: UTF8.self)
        let issued = bytes[32..<40].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        signedTokens.keep((session, issued), of: text)
        return (session, issued)
    }
}
#endif

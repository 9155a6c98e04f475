// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkModel

extension Authentication {
    /// The authentication by the id of a credential, of which a record keeps one at most.
    ///
    /// Without a credential it is `.inProcess`, which the store rejects for any user.
    init(session: String?, key: String?, issuer: String?) {
        self =
            if let session {
                .session(id: session)
            } else if let key {
                .serverKey(id: key)
            } else if let issuer {
                .identityProvider(issuer: issuer)
            } else {
                .inProcess
            }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The way in which a service identified the user of a request.
///
/// A commit keeps it. The ids name credentials; none of them is a secret.
public enum Authentication: Hashable, Sendable {
    /// Set by the program that has the store open: nothing was checked.
    case inProcess
    /// A session that the user signed in for.
    case session(id: String)
    /// The key of a server that acts for itself or for a user.
    case serverKey(id: String)
    /// A token of an identity provider.
    case identityProvider(issuer: String)
    /// An administrator acts for the user.
    case administrator(id: String)
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
/// A signing in at an OpenID Connect issuer, which lasts as long as the token that proves it.
struct IssuedSignIn {
    /// The name of the account's record.
    let account: String
    let issuer: String
    /// The time of issue, in milliseconds since 1970; `nil` if the token does not state it.
    let issued: Int64?
    /// The end, in milliseconds since 1970.
    let end: Int64
}
#endif

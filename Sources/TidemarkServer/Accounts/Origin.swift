// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TidemarkModel

/// Origins of pages, and addresses to which browsers are sent.
package enum Origin {
    /// Refuses a text that is not an origin, such as `https://example.org` or
    /// `http://localhost:3000`.
    static func check(_ text: String) throws(SyncError) {
        // `APIToken.allows` compares whole texts, and browsers send this form. An origin with a slash
        // at its end, with capital letters, or with a pattern would match no page.
        guard text == of(text), !text.contains("*") else {
            throw SyncError(
                .invalidArguments,
                "\"\(text)\" is not an origin; write scheme, host and port, such as "
                    + "https://example.org."
            )
        }
    }

    /// Refuses a text that is not a callback address.
    static func checkCallback(_ text: String) throws(SyncError) {
        guard let url = URL(string: text), let scheme = url.scheme, url.host != nil,
            // The web auth token is appended as a member of the query, which must be the end of the
            // address.
            ["http", "https"].contains(scheme), url.fragment == nil, url.user == nil
        else {
            throw SyncError(
                .invalidArguments,
                "\"\(text)\" is not a web address that sign-in can return to; write "
                    + "https://HOST/PATH, without a user or a fragment."
            )
        }
    }

    /// Returns the origin of an address as browsers send it: in lower case, and without the port that the
    /// scheme implies; `nil` unless it has the scheme `http` or `https`, and a host.
    package static func of(_ address: String) -> String? {
        guard let url = URL(string: address), let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let name = url.host, !name.isEmpty
        else { return nil }
        // `URL.host` leaves out the brackets of an IPv6 address.
        let host = (name.contains(":") ? "[\(name)]" : name).lowercased()
        guard let port = url.port, port != (scheme == "https" ? 443 : 80) else {
            return "\(scheme)://\(host)"
        }
        return "\(scheme)://\(host):\(port)"
    }
}
#endif

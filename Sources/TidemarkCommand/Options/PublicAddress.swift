// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation

/// The address at which clients reach a server: the beginning of its links.
struct PublicAddress {
    /// The address without a slash at its end, because paths begin with one.
    let text: String

    /// Reads an address; throws for one that no client could open.
    ///
    /// `name` begins the message.
    init(_ text: String, of name: String) throws {
        let parts = URLComponents(string: text)
        guard let parts, ["http", "https"].contains(parts.scheme?.lowercased()),
            parts.host?.isEmpty == false, parts.user == nil, parts.query == nil,
            parts.fragment == nil
        else {
            throw CommandError(
                "\(name) must be an address with http:// or https:// and a host, such as "
                    + "https://sync.example.org; it is \"\(text)\"."
            )
        }
        let end = text.lastIndex { $0 != "/" }
        self.text = end.map { String(text[...$0]) } ?? text
    }
}
#endif

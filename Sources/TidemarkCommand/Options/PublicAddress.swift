// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TidemarkServer

/// The address at which clients reach a server: the beginning of its links.
struct PublicAddress {
    /// The address as browsers send it as an origin.
    let text: String

    /// Reads an address; throws for one that no client could open.
    ///
    /// `name` begins the message.
    init(_ text: String, of name: String) throws {
        let parts = URLComponents(string: text)
        guard let parts, let origin = Origin.of(text), parts.user == nil, parts.query == nil,
            parts.fragment == nil
        else {
            throw CommandError(
                "\(name) must be an address with http:// or https:// and a host, such as "
                    + "https://sync.example.org; it is \"\(text)\"."
            )
        }
        guard parts.path.allSatisfy({ $0 == "/" }) else {
            throw CommandError(
                "\(name) must be an address without a path, because the server has all paths of its "
                    + "host; it is \"\(text)\". Give the server a host name or a port of its own."
            )
        }
        self.text = origin
    }
}
#endif

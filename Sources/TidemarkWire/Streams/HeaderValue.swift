// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The values in headers between Tidemark's own clients and servers: JSON in base64url without
/// padding.
package enum HeaderValue {
    /// The header with a request whose body is something else, such as the bytes of an asset.
    package static let request = "X-Tidemark-Request"
    /// The header with an answer whose body is something else.
    package static let answer = "X-Tidemark-Answer"
    /// The header of the id under which a write may be repeated.
    package static let requestID = "X-Tidemark-Request-ID"
    /// The header of the user that a client believes to speak for.
    package static let user = "X-Tidemark-User"
    /// The header of the user whose database it is.
    package static let owner = "X-Tidemark-Owner"
    /// The header of the app's build.
    package static let build = "X-Tidemark-Build"

    /// Returns the header text of a value.
    package static func text(
        of value: some Encodable
    ) throws(SyncError) -> (text: String, json: [UInt8]) {
        let json = try WireCoding.bytes(of: value)
        var text: [UInt8] = []
        // Base64url: a header may hold only some of the characters of JSON, such as none outside of
        // ASCII.
        json.withUnsafeBufferPointer { Base64.encode($0, .urlWithoutPadding, into: &text) }
        // The JSON too, because a key signs it in place of the body.
        return (String(decoding: text, as: UTF8.self), json)
    }

    /// Reads a value from a header text; `nil` if the text does not contain one.
    package static func value<Value: Decodable>(
        _ type: Value.Type,
        from text: String
    ) -> (value: Value, json: [UInt8])? {
        var json: [UInt8] = []
        guard Base64.decode(text.utf8, .urlWithoutPadding, into: &json),
            let value = try? WireCoding.value(type, from: json)
        else { return nil }
        return (value, json)
    }
}

extension SyncError {
    /// Reads an error as a server sends it; `nil` for any other bytes.
    package init?(wire bytes: [UInt8]) {
        guard let error = try? WireCoding.value(SyncError.self, from: bytes) else { return nil }
        self = error
    }

    /// The error as a server sends it.
    package var wireBytes: [UInt8] {
        // Texts, numbers and records can always be encoded.
        (try? WireCoding.bytes(of: self)) ?? []
    }
}

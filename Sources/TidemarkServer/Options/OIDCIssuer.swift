// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
public import TidemarkModel

/// An OpenID Connect issuer whose tokens name users of one container.
public struct OIDCIssuer: Hashable, Sendable {
    /// The identifier of the issuer, which is the member `iss` of its tokens.
    public var url: String
    /// The audience, which is in the member `aud` of tokens for the app.
    public var audience: String
    /// The container in which the tokens are valid.
    public var container: ContainerID
    /// The file with the issuer's keys, a JSON Web Key Set; `nil` fetches them from the issuer.
    public var keyFile: String?

    /// Creates an issuer.
    public init(
        _ url: String,
        audience: String,
        container: ContainerID,
        keyFile: String? = nil
    ) {
        self.url = url
        self.audience = audience
        self.container = container
        self.keyFile = keyFile
    }

    /// Reads `URL audience=TEXT container=ID`, optionally with `keys=FILE`.
    ///
    /// Throws `invalidArguments` for any other text.
    public init(_ text: String) throws(SyncError) {
        let words = text.split(separator: " ").map(String.init)
        var members: [String: String] = [:]
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, ["audience", "container", "keys"].contains(parts[0]),
                members.updateValue(parts[1], forKey: parts[0]) == nil
            else { throw Self.unreadable(text) }
        }
        guard let url = words.first, let audience = members["audience"],
            let container = members["container"]
        else { throw Self.unreadable(text) }
        self.init(
            url,
            audience: audience,
            container: ContainerID(container),
            keyFile: members["keys"]
        )
        try check()
    }

    private static func unreadable(_ text: String) -> SyncError {
        SyncError(
            .invalidArguments,
            "\"\(text)\" does not name an issuer.",
            remedy:
                "Write URL audience=TEXT container=ID, such as https://id.example.org "
                + "audience=notes container=iCloud.notes; add keys=FILE for keys in a file."
        )
    }

    /// Throws if the issuer cannot be used.
    func check() throws(SyncError) {
        let parts = URLComponents(string: url)
        // An address without host, or with a query, has no place for the discovery document.
        guard let parts, parts.scheme == "https" || parts.scheme == "http",
            parts.host?.isEmpty == false, parts.query == nil, parts.fragment == nil
        else {
            throw SyncError(
                .invalidArguments,
                "The issuer \"\(url)\" must be an address such as https://id.example.org, without "
                    + "query and fragment."
            )
        }
        guard !audience.isEmpty else {
            throw SyncError(.invalidArguments, "The issuer \"\(url)\" needs an audience.")
        }
        try container.checkNotReserved()
    }
}

extension ContainerID {
    /// Throws for the container of the server's own records.
    func checkNotReserved() throws(SyncError) {
        guard self != .server else {
            throw SyncError(
                .badContainer,
                "The container \(identifier) is reserved for the server."
            )
        }
    }
}
#endif

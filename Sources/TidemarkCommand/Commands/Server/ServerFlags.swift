// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The flags of a server.
///
/// Settings without a flag come from other sources: see ``ServerSettings``.
struct ServerFlags: ParsableArguments {
    @Argument(help: "The store's folder (tidemark.tide).", completion: .directory)
    var store: String?

    @Option(help: ArgumentHelp("A JSON file of settings.", valueName: "file"))
    var config: String?

    @Option(help: "The port to listen on; 0 takes a free one (8080).")
    var port: Int?

    @Option(help: "The address to listen on (127.0.0.1).")
    var host: String?

    @Option(help: ArgumentHelp("The address at which clients reach the server.", valueName: "url"))
    var publicURL: String?

    @Option(help: ArgumentHelp("The certificate chain in PEM.", valueName: "file"))
    var certificate: String?

    @Option(help: ArgumentHelp("The certificate's private key in PEM.", valueName: "file"))
    var privateKey: String?

    @Flag(inversion: .prefixedNo, help: "Allow people to create their own accounts (yes).")
    var signUp: Bool?

    @Option(
        help: ArgumentHelp(
            "At most how many requests in a time, of each token, key, user, device or address; or "
                + "attempts to sign in (sign-in=20/1m).",
            valueName: "kind=count/time"
        )
    )
    var rateLimit: [String] = []

    @Flag(
        inversion: .prefixedNo,
        help: "Trust X-Forwarded-For, which a proxy in front of the server sets (no)."
    )
    var trustProxy: Bool?

    @Option(
        help: ArgumentHelp(
            "How long a web auth token is valid: until its session ends (lenient), or once (strict).",
            valueName: "rotation"
        )
    )
    var tokenRotation: String?

    @Option(help: "The limit of open connections (20000).")
    var connectionLimit: Int?

    @Option(
        help: ArgumentHelp(
            "A private network to which webhooks may be sent, such as 127.0.0.0/8.",
            valueName: "address/bits"
        )
    )
    var webhookNetwork: [String] = []

    @Option(
        help: ArgumentHelp(
            "An OpenID Connect issuer whose tokens name users of a container, such as "
                + "'https://id.example.org audience=notes container=iCloud.notes'; keys=FILE takes "
                + "its keys from a file.",
            valueName: "issuer"
        )
    )
    var oidcIssuer: [String] = []

    @Option(
        help: ArgumentHelp(
            "The limit of bytes in a private database: a number with K, M, G or T (no limit).",
            valueName: "bytes"
        )
    )
    var userQuota: String?

    @Option(
        help: ArgumentHelp("The limit of bytes in a public database.", valueName: "bytes")
    )
    var publicQuota: String?

    @Option(help: "The limit of concurrent requests per container (2000).")
    var containerRequests: Int?

    @Option(
        help:
            "At most how many queries and deltas of one container are read at once; others wait (32)."
    )
    var containerScans: Int?

    @Option(
        help: ArgumentHelp(
            "The days for which the journal is kept (30).",
            valueName: "days"
        )
    )
    var journalDays: Int?

    @Option(
        help: ArgumentHelp("The container of the token that is printed.", valueName: "identifier")
    )
    var container: String?
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel
import TidemarkServer

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Answer CloudKit Web Services for a store, over HTTP.",
        discussion: """
            Opens the store, or makes it, and listens on this machine alone unless --host says otherwise. \
            Prints the address, an API token for development, and how to sign in. SIGTERM or Ctrl-C ends \
            it once the requests that have begun are answered. Docs/server.md says how to run it for others.

              tidemark serve notes.tide
              tidemark serve notes.tide --host 0.0.0.0 --port 443 --certificate chain.pem \\
                  --private-key key.pem --public-url https://sync.example.org
            """
    )

    @Argument(help: "The store's folder.", completion: .directory)
    var store = "tidemark.tide"

    @Option(help: "The port to listen on; 0 takes a free one.")
    var port = 8080

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: ArgumentHelp("How clients reach the server.", valueName: "url"))
    var publicURL: String?

    @Option(help: ArgumentHelp("The certificate chain in PEM.", valueName: "file"))
    var certificate: String?

    @Option(help: ArgumentHelp("The certificate's private key in PEM.", valueName: "file"))
    var privateKey: String?

    @Flag(inversion: .prefixedNo, help: "Let people make accounts for themselves.")
    var signUp = true

    @Option(
        help: ArgumentHelp(
            "At most how many requests in a time, of each token, key, user, device or address; or attempts to "
                + "sign in (sign-in=20/1m).",
            valueName: "kind=count/time"
        )
    )
    var rateLimit: [String] = []

    @Flag(help: "Believe X-Forwarded-For, which a proxy before the server sets.")
    var trustProxy = false

    @OptionGroup var container: ContainerOption

    func validate() throws {
        if (certificate == nil) != (privateKey == nil) {
            throw ValidationError("--certificate and --private-key go together.")
        }
        guard (0...65_535).contains(port) else {
            throw ValidationError("A port is a number from 0 to 65535.")
        }
    }

    func run() async throws {
        #if Server
        var options = ServerOptions()
        options.port = port
        options.host = host
        options.publicURL = publicURL
        options.certificate = certificate
        options.privateKey = privateKey
        options.allowsSignUp = signUp
        options.trustsProxy = trustProxy
        for text in rateLimit {
            let (kind, rate) = try Self.rateLimit(text)
            options.rateLimits[kind] = rate
        }
        let opened = try openStore()
        do {
            let server = try await Server(
                store: opened,
                at: store,
                options: options,
                logger: JSONLogHandler.logger { line in
                    try? writeAll(line[...], to: STDERR_FILENO, name: "standard error")
                }
            )
            let token = try await server.directory.developmentToken(for: container.id)
            try await server.run { port in tell(port, token) }
        } catch {
            try? opened.close()
            throw error
        }
        try opened.close()
        #else
        throw CommandError(
            "This program was built without the server. Build it with: swift build -c release --traits Server"
        )
        #endif
    }

    #if Server
    private static func rateLimit(_ text: String) throws -> (RateLimited, Throttling.Rate) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        let rate = (parts.last ?? "").split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, rate.count == 2, let kind = RateLimited(rawValue: parts[0]),
            let count = Int(rate[0]), count > 0
        else {
            let kinds = RateLimited.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(
                "\"\(text)\" is no rate limit. Write KIND=COUNT/TIME, such as user=600/1m; "
                    + "the kinds are \(kinds)."
            )
        }
        return (kind, Throttling.Rate(count, per: try duration(rate[1])))
    }

    private func openStore() throws -> Store {
        var options = StoreOptions()
        options.requiresAuthentication = true
        options.journal = .full
        return try Store.open(at: store, access: .creating, options: options)
    }

    /// Says where the server is, and what to try first.
    private func tell(_ port: Int, _ token: String) {
        let scheme = certificate == nil ? "http" : "https"
        let name = ["127.0.0.1", "::1", "0.0.0.0", "::"].contains(host) ? "localhost" : host
        let address = publicURL ?? "\(scheme)://\(name):\(port)"
        let place = "\(address)/database/1/\(container.container)/development"
        let text = """
            Tidemark serves \(store) at \(address)

              container  \(container.container), development
              API token  \(token)

            Ask it:
              curl '\(place)/public/zones/list?ckAPIToken=\(token)'

            Sign in, and take the token along for private databases:
              \(address)/signin?ckAPIToken=\(token)
            """
        var output = StandardOutput()
        try? output.line(text)
        try? output.flush()
    }
    #endif
}

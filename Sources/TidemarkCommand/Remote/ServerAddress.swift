// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import TidemarkModel
import TidemarkWire

/// A command for the files of this machine, which no server performs.
protocol FolderCommand: ParsableCommand {
    /// The reason, and what to do instead, in sentences.
    static var remedy: String { get }
}

/// The address of a server in the place of a store's folder.
struct ServerAddress {
    private let url: String

    /// Reads an address; `nil` for a folder.
    init?(_ text: String) {
        guard text.hasPrefix("http://") || text.hasPrefix("https://") else { return nil }
        url = text
    }

    /// The beginning of the links to shares there.
    var linkPrefix: String { (url.hasSuffix("/") ? url : url + "/") + "share/" }

    /// The service at the address, for the administrator whose secret is in a file, or else in the variable
    /// `TIDEMARK_ADMIN_TOKEN`.
    func service(secretFile: String?) throws -> any AdministrationService {
        #if Client
        let secret: String
        if let secretFile {
            guard let bytes = FileManager.default.contents(atPath: secretFile) else {
                throw CommandError(
                    "The file of the secret \(secretFile) cannot be read. Check the path and its permissions."
                )
            }
            secret = String(decoding: bytes, as: UTF8.self)
        } else {
            secret = ProcessInfo.processInfo.environment["TIDEMARK_ADMIN_TOKEN"] ?? ""
        }
        // Files usually end with a line feed, which would be an invalid character of a header.
        let trimmed = secret.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty else {
            throw CommandError(
                "A server answers only administrators. Set TIDEMARK_ADMIN_TOKEN, or name a "
                    + "file with --secret-file; `tidemark administrators add` creates a secret."
            )
        }
        // Other characters cannot be sent. The error must not show them: they may be of another
        // file with secrets.
        guard trimmed.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw CommandError(
                "The content of \(secretFile ?? "TIDEMARK_ADMIN_TOKEN") is not a secret, which is one "
                    + "word. `tidemark administrators add` prints one."
            )
        }
        if isExposed {
            note(
                "Warning: the secret is sent without encryption. Give the server a "
                    + "certificate, and use https://."
            )
        }
        return RemoteAdministration(over: HTTPAdministration(url: url, secret: trimmed))
        #else
        throw CommandError(
            "This program was built without the client. Build it with `swift build -c release --traits Client`."
        )
        #endif
    }

    /// True if other parties could read the request: it is not encrypted, and leaves this machine.
    private var isExposed: Bool {
        guard url.hasPrefix("http://") else { return false }
        let host = URL(string: url)?.host() ?? ""
        // A name such as 127.example.org is not an address of this machine.
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        let isLoopback =
            numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
        return host != "localhost" && host != "::1" && !isLoopback
    }

    /// Replaces the store's folder in the arguments, after the command names, by the address that
    /// `--url` names.
    ///
    /// `root` is the command to which the arguments belong. Throws for a command that no server
    /// performs.
    static func withStore(
        _ arguments: [String],
        of root: any ParsableCommand.Type
    ) throws -> [String] {
        // STORE is a required argument: with `--url` alone, the parser would take the argument
        // after it for the store.
        guard let url = address(in: arguments) else { return arguments }
        var place = 0
        var command = root
        while place < arguments.count,
            let next = command.configuration.subcommands.first(where: {
                $0._commandName == arguments[place]
            })
        {
            command = next
            place += 1
        }
        // Without a command name, the parser reports the arguments as they are.
        guard place > 0 else { return arguments }
        if let command = command as? any FolderCommand.Type {
            let name = arguments[..<place].joined(separator: " ")
            throw CommandError(
                "`tidemark \(name)` works on the folder of a store, not on a server. \(command.remedy)"
            )
        }
        guard ServerAddress(url) != nil else {
            throw ValidationError(
                "'\(url)' is not the address of a server, which begins with https:// or http://. "
                    + "Leave out --url for a store's folder."
            )
        }
        var arguments = arguments
        arguments.insert(url, at: place)
        return arguments
    }

    private static func address(in arguments: [String]) -> String? {
        for (index, argument) in arguments.enumerated() {
            // What follows belongs to another program.
            if argument == "--" { return nil }
            if argument.hasPrefix("--url=") { return String(argument.dropFirst(6)) }
            if argument == "--url", index + 1 < arguments.count { return arguments[index + 1] }
        }
        return nil
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkServer
import TidemarkWire

/// The store that a command writes to.
struct WrittenStoreArgument: ParsableArguments {
    @OptionGroup var argument: StoreArgument

    @Option(
        help: """
            How long to wait while another process has the store open for writing, such as 30s or 5m; \
            without it the command fails at once.
            """,
        transform: duration
    )
    var wait = Duration.zero

    /// The store's folder.
    var store: String { argument.store }

    /// The folder; throws for the address of a server.
    var folder: String { get throws { try argument.folder } }

    /// The interval between two attempts to open the store.
    private static let pause = Duration.milliseconds(100)

    /// Opens the store as ``StoreArgument/open(_:)`` does, once no other process has it open for writing.
    func open(_ access: StoreAccess) async throws -> Store {
        try await waiting { try argument.open(access) }
    }

    /// Retries an operation that fails because the store is locked, until the waiting time is over.
    func waiting<Result>(_ body: () async throws -> Result) async throws -> Result {
        // This clock does not jump when the machine's time is set.
        let end = ContinuousClock.now + wait
        var hasSaidSo = false
        while true {
            do {
                return try await body()
            } catch let error as LogError where error.code == .locked {
                guard ContinuousClock.now < end else {
                    guard wait == .zero else { throw error }
                    let remedy = " To wait for it, add --wait 5m."
                    throw LogError(.locked, error.message + remedy, path: error.path)
                }
                if !hasSaidSo { note("\(error.text) Waiting.") }
                hasSaidSo = true
                // Polled: a file lock cannot be waited for with a time limit.
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Opens the store for writing, runs a command with it, and closes it in any case.
    func write(
        _ access: StoreAccess = .writing,
        _ command: (Store) async throws -> Void
    ) async throws {
        // A mistyped path would otherwise become a store without a word.
        let isNew = access == .creating && !FileManager.default.fileExists(atPath: argument.store)
        let store = try await open(access)
        if isNew { note("Created the store \(argument.store.printable).") }
        do {
            try await command(store)
        } catch {
            // Report the first failure.
            try? store.close()
            throw error
        }
        // An error here counts: closing writes what is still pending.
        try store.close()
    }

    /// Runs a command: at the server that the argument names, or that has the store open here, or
    /// else on files.
    func administer(
        _ access: StoreAccess = .writing,
        _ command: (any AdministrationService) async throws -> Void
    ) async throws {
        if let server = try server { return try await command(server) }
        guard access != .reading else { return try await ask(command) }
        try await write(access) { store in try await command(argument.service(of: store)) }
    }

    /// Runs a command of an app's user as ``administer(_:_:)`` does.
    func act(
        _ access: StoreAccess = .writing,
        _ command: (any DatabaseService) async throws -> Void
    ) async throws {
        try await act(access) { service, _ in try await command(service) }
    }

    /// Runs a command of an app's user that makes calls of an operator too.
    func act(
        _ access: StoreAccess = .writing,
        _ command: (any DatabaseService, any AdministrationService) async throws -> Void
    ) async throws {
        if let server = try server {
            return try await command(VouchedTransport.service(by: server), server)
        }
        try await write(access) { store in
            try await command(store, argument.service(of: store))
        }
    }

    /// Runs a command as ``administer(_:_:)`` does, on files that no process has open.
    func administerFiles<Answer>(
        _ command: (any AdministrationService) async throws -> Answer
    ) async throws -> Answer {
        if let server = try server { return try await command(server) }
        let files = try argument.serviceOfFiles()
        return try await waiting { try await command(files) }
    }

    /// The service of the server that a command writes to; `nil` for files.
    ///
    /// The order is: the server that was named, the server that has the lock here, the files. Files
    /// first would fail with `locked` while a server runs. It is decided before anything is sent:
    /// after an error, the server may have done the call.
    var server: (any AdministrationService)? {
        get throws { try argument.remote ?? served }
    }

    /// The service of the server that has the store open here; `nil` if none listens on its socket.
    private var served: (any AdministrationService)? {
        #if Server
        guard let path = AdministrationSocket.path(ofStoreAt: store),
            // A server that was killed leaves its socket behind.
            AdministrationSocket.isOpen(path), let transport = HTTPAdministration(socket: path)
        else { return nil }
        return RemoteAdministration(over: transport)
        #else
        return nil
        #endif
    }

    /// Runs a read-only command, as ``StoreArgument/ask(_:)`` does.
    func ask(_ command: (any AdministrationService) async throws -> Void) async throws {
        try await argument.ask(command)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Tidemark
import TidemarkAdministration
import TidemarkModel
import TidemarkServer

/// The store that a command is about.
struct StoreArgument: ParsableArguments {
    @Argument(
        help: "The store's folder, such as notes.tide, or the address of a server.",
        completion: .directory
    )
    var store: String

    @Option(
        help: ArgumentHelp(
            "The address of a server, instead of STORE, such as https://sync.example.org.",
            valueName: "address"
        )
    )
    var url: String?

    @Option(
        help: ArgumentHelp(
            "The file of the administrator's secret; otherwise it is in TIDEMARK_ADMIN_TOKEN.",
            valueName: "file"
        ),
        completion: .file()
    )
    var secretFile: String?

    /// The service that answers for the server that the argument names; `nil` where it names a folder.
    var remote: (any AdministrationService)? {
        get throws { try ServerAddress(store)?.service(secretFile: secretFile) }
    }

    /// The folder; throws for the address of a server.
    var folder: String {
        get throws {
            guard ServerAddress(store) == nil else {
                throw CommandError(
                    "This command works on the folder of a store, not on a server. Run it on "
                        + "the machine with the folder."
                )
            }
            return store
        }
    }

    /// The beginning of the links to shares.
    var linkPrefix: String {
        ServerAddress(store)?.linkPrefix ?? StoreOptions().shareURLPrefix
    }

    /// Opens it; shows how far that is if views have to be computed again.
    func open(_ access: StoreAccess) throws -> Store {
        let store = try folder
        if access == .reading { waitForLastCommit() }
        var progress = Progress()
        defer { progress.finish() }
        let opened = try Store.open(at: store, access: access) { rebuilt in
            progress.update(
                part: Double(rebuilt.eventCount) / Double(max(1, rebuilt.totalEventCount)),
                "\(rebuilt.eventCount) events read"
            )
        }
        // A reader makes no commits, so the clock does not matter to it.
        if access != .reading { noteLag(opened.clockLag) }
        return opened
    }

    /// Warns if the machine's clock is behind the store's last commit.
    func noteLag(_ lag: Duration) {
        let seconds = lag.components.seconds
        guard seconds > 0 else { return }
        note(
            "Warning: the last commit's time is \(seconds) seconds ahead of this machine's "
                + "clock. Until then all commits get that time. Check the clock."
        )
    }

    private var remedy: String {
        "The store is damaged, as said above. `tidemark log salvage \(store) NEW` copies what "
            + "is sound into a new one."
    }

    /// The service that answers for an open store.
    func service(of store: Store) -> any AdministrationService {
        let administration = StoreAdministration(of: store, at: self.store)
        #if Server
        return ServerAdministration(of: administration)
        #else
        return administration
        #endif
    }

    /// The service that answers for files, whether or not a store can be opened.
    func serviceOfFiles() throws -> any AdministrationService {
        if let remote = try remote { return remote }
        waitForLastCommit()
        return StoreAdministration(of: nil, at: store)
    }

    /// Waits, if a server has the store open here, until readers of the files see its last commit.
    ///
    /// The server lets them see it 20 ms later. A script that has just saved something by the
    /// server would not find it.
    private func waitForLastCommit() {
        #if Server
        guard let path = AdministrationSocket.path(ofStoreAt: store),
            AdministrationSocket.isOpen(path)
        else { return }
        Thread.sleep(forTimeInterval: 0.03)
        #endif
    }

    /// Runs a command that only reads: on files, or at a server.
    ///
    /// Shows the progress of its calls.
    func ask(_ command: (any AdministrationService) async throws -> Void) async throws {
        guard let remote = try remote else {
            return try await read { store in
                try await command(ShownAdministration(service(of: store)))
            }
        }
        try await asking { try await command(ShownAdministration(remote)) }
    }

    /// Runs a command of an app's user that only reads, as ``ask(_:)`` does.
    func askAsApp(_ command: (any DatabaseService) async throws -> Void) async throws {
        guard let remote = try remote else {
            return try await read { store in try await command(store) }
        }
        try await asking { try await command(VouchedTransport.service(by: remote)) }
    }

    /// Runs a command that asks a server, and gives its errors remedies for a person.
    private func asking(_ command: () async throws -> Void) async throws {
        do {
            try await command()
        } catch let error as SyncError {
            throw CommandError(lookingFor: error, in: store) ?? error
        }
    }

    /// Opens it for reading, runs a command with it, and ends as ``finish(_:)`` does.
    ///
    /// Damage is reported even if it made the command fail.
    private func read(_ command: (Store) async throws -> Void) async throws {
        let store = try open(.reading)
        do {
            try await command(store)
        } catch {
            // The damage is the likely cause of the error, so it is reported first. The error
            // itself may only say that a record is missing.
            let damage = try store.eventSource.damage
            for damage in damage { note("Damaged: \(damage.text)") }
            let isDamaged = !damage.isEmpty
            switch error {
            case let error as SyncError where isDamaged:
                throw CommandError("\(self.store): \(error.message) \(remedy)")
            case let error as SyncError:
                throw CommandError(lookingFor: error, in: self.store) ?? error
            case let error as CommandError where isDamaged:
                throw CommandError("\(error) \(remedy)")
            default:
                throw error
            }
        }
        // After a success too: a command can skip damaged events without an error.
        try finish(try store.eventSource)
    }
}

extension CommandError {
    /// Creates the error for an item that was not found, with a remedy for a person that reads a
    /// store; `nil` for other errors.
    ///
    /// The remedy of the code is for apps that have a copy. An error with a remedy of its own keeps it.
    fileprivate init?(lookingFor error: SyncError, in store: String) {
        guard error.remedy == SyncError(error.code, "").remedy else { return nil }
        let remedy: String
        switch error.code {
        case .unknownItem:
            remedy = "It may be in another zone (--zone) or database (--database, --owner)."
        case .zoneNotFound:
            remedy =
                "`tidemark zones list \(store)` tells which there are; --zone names one, and --owner "
                + "the user whose database it is in."
        default: return nil
        }
        self.init("\(error.code) (\(error.code.rawValue)): \(error.message) \(remedy)".printable)
    }
}

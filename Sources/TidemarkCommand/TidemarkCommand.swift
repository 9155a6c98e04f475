// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkLog
import TidemarkModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The root of the command line: it lists the commands and does nothing else.
@main
struct TidemarkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidemark",
        abstract: "A sync engine with CloudKit's model, and the questions its log answers.",
        version: version,
        groupedSubcommands: [
            CommandGroup(
                name: "Data",
                subcommands: [
                    ImportCommand.self, ExportCommand.self, ChangesCommand.self, ZonesCommand.self,
                    RecordCommand.self, QueryCommand.self, SaveCommand.self, DeleteCommand.self,
                    AssetCommand.self, ShareCommand.self, SubscriptionsCommand.self,
                    SchemaCommand.self, UsersCommand.self,
                ]
            ),
            CommandGroup(
                name: "The past",
                subcommands: [
                    HistoryCommand.self, BlameCommand.self, WhyCommand.self, DiffCommand.self,
                    BisectCommand.self, ReplayCommand.self, JournalCommand.self, LogCommand.self,
                    CaseCommand.self,
                ]
            ),
            CommandGroup(
                name: "Upkeep",
                subcommands: [
                    UsageCommand.self, CompactCommand.self, EraseCommand.self, BackupCommand.self,
                    RestoreCommand.self, ForkCommand.self,
                ]
            ),
            CommandGroup(
                name: "Server",
                subcommands: [ServeCommand.self, ExecCommand.self] + serverCommands
            ),
        ]
    )

    #if Server
    private static let serverCommands: [any ParsableCommand.Type] = [
        ConfigCommand.self, ContainersCommand.self, AccountsCommand.self, SessionsCommand.self,
        TokensCommand.self, KeysCommand.self, AdministratorsCommand.self, WebhooksCommand.self,
    ]
    #else
    private static let serverCommands: [any ParsableCommand.Type] = []
    #endif

    /// Runs the command that the arguments name, and ends the process.
    ///
    /// Status 0: done; 1: rejected, missing or damaged; 64: usage. A closed pipe is a normal end.
    static func main() async {
        // Before anything is written: a closed pipe must be an error of the write, not the end of
        // the process in the middle of a commit.
        for number in IgnoredSignals.all { signal(number, SIG_IGN) }
        occupyStandardDescriptors()
        do {
            // Before the command runs, because no thread may have started.
            try AddressSpace.prepareProcess(named: CommandLine.arguments[0])
            let arguments = Array(CommandLine.arguments.dropFirst())
            try checkCommand(arguments)
            var command = try parseAsRoot(try ServerAddress.withStore(arguments, of: Self.self))
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch is ClosedPipe {
            exit(withError: nil)
        } catch let error as LogError {
            end(with: CommandError(error.text.printable))
        } catch let error as SyncError {
            end(with: CommandError(error.description.withWholeCommands.printable))
        } catch {
            end(with: error)
        }
    }

    /// Rejects arguments that begin with no command; the parser would call all of them unexpected.
    private static func checkCommand(_ arguments: [String]) throws {
        guard let name = arguments.first, !name.hasPrefix("-"), name != "help" else { return }
        let commands = configuration.groupedSubcommands.flatMap(\.subcommands)
        guard !commands.contains(where: { $0.configuration.commandName == name }) else { return }
        throw ValidationError(
            "There is no command '\(name.printable)'; `tidemark --help` lists them."
        )
    }

    /// Ends the process with an error, whose message echoes long input only in part.
    private static func end(with error: any Error) -> Never {
        let message = fullMessage(for: error)
        let bounded = message.bounded(echoing: Array(CommandLine.arguments.dropFirst()))
        // A whole message is left to ArgumentParser, which prints help to standard output and
        // errors to standard error.
        guard bounded != message else { exit(withError: error) }
        note(bounded)
        // An `ExitCode` has no message, so the long one is not printed again.
        exit(withError: exitCode(for: error))
    }

    /// Sees to it that standard input, output and error are open, so that no file of a store gets the
    /// number of one that was closed, and output written into it.
    private static func occupyStandardDescriptors() {
        // Reading from or writing to one of these then fails, as with a closed descriptor.
        if fcntl(STDIN_FILENO, F_GETFD) < 0 { _ = open("/dev/null", O_WRONLY) }
        // `open` returns the lowest free number, so the first one above standard error shows that
        // all three are occupied.
        while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 {
            guard descriptor > STDERR_FILENO else { continue }
            close(descriptor)
            return
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Synchronization
import TidemarkLog

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// `tidemark log tail`: events as they happen.
struct LogTailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Print the last events, then each new one as it becomes durable.",
        discussion: """
            Follows a store that another process writes. It ends when it is interrupted, when \
            nobody reads its output any more, or after --count events.

              tidemark log tail notes.tide --zone lists
              tidemark log tail notes.tide --last 0 --count 1
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("How many events to begin with.", valueName: "events"))
    var last: UInt64 = 10

    @Option(
        help: ArgumentHelp("Begin with this event instead.", valueName: "sequence")
    )
    var from: UInt64?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End after so many events.", valueName: "events")
    )
    var count: Int?

    @OptionGroup var filter: EventFilter
    @OptionGroup var options: OutputOptions

    /// How often the store is looked at.
    private static let pollMilliseconds: Int32 = 100

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
    }

    func run() throws {
        let reader = try LogReader(store.store, fileSystem: PosixFileSystem())
        signal(SIGINT) { _ in wasInterrupted.store(true, ordering: .relaxed) }
        var printer = EventPrinter(reader, filter, options)
        let durable = reader.durableSequence.rawValue
        var next = from ?? durable - min(durable, last) + 1
        while true {
            let durable = reader.durableSequence
            try printer.printEvents(
                from: SequenceNumber(rawValue: next),
                through: durable,
                limit: count.map { $0 - printer.count }
            )
            try printer.flush()
            next = max(next, durable.rawValue + 1)
            if let count, printer.count >= count { break }
            guard try wait() else { break }
            _ = try reader.refresh()
        }
        try finish(reader, and: printer.unknown)
    }

    /// Waits until it is time to look again; `false` if that will not be needed any more.
    private func wait() throws -> Bool {
        // Asking about no event at all reports only that the other end of a pipe has gone.
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        let found = poll(&output, 1, Self.pollMilliseconds)
        if found > 0, output.revents & Int16(POLLERR | POLLHUP) != 0 { throw ClosedPipe() }
        return !wasInterrupted.load(ordering: .relaxed)
    }
}

/// Set by a signal's handler, which may do nothing else.
private let wasInterrupted = Atomic(false)

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Synchronization
import TidemarkAdministration
import TidemarkLog
import TidemarkModel
import TidemarkWire

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// `tidemark log tail`: events as they happen.
struct LogTailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Print the last events, then each new one as it becomes durable.",
        discussion: """
              tidemark log tail notes.tide --zone lists
              tidemark log tail notes.tide --last 0 --count 1

            Follows a store that another process writes, or a server. It ends when it is \
            interrupted, when its output is closed, or after --count events. If the connection to \
            a server is lost, it continues after the last event.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("The number of earlier events to print first.", valueName: "events"))
    var last: UInt64 = 10

    @Option(
        help: ArgumentHelp("The first event to print, by sequence number.", valueName: "sequence")
    )
    var from: UInt64?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End after this number of events.", valueName: "events")
    )
    var count: Int?

    @OptionGroup var filter: EventFilter
    @OptionGroup var options: OutputOptions

    /// The interval between checks for a request to end.
    private static let pause = Duration.milliseconds(100)

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
    }

    func run() async throws {
        // Without a handler, Ctrl-C would end the process before the damage is reported.
        signal(SIGINT) { _ in wasInterrupted.store(true, ordering: .relaxed) }
        let service = try store.serviceOfFiles()
        var call = EventsCall(filter.filter)
        call.first = from.map { SequenceNumber(rawValue: $0) }
        // Has no effect if `from` is given.
        call.newest = last
        call.limit = count
        call.follows = true
        let found = try await withThrowingTaskGroup(of: EventsCall.Answer?.self) {
            group -> EventsCall.Answer? in
            group.addTask { [call] in
                do {
                    return try await follow(call, service)
                } catch is CancellationError {
                    // A server ends its answer there.
                    return nil
                }
            }
            group.addTask {
                // The other task waits for events and sees neither a signal nor a closed pipe,
                // which a quiet store would otherwise hide for hours.
                while try !isOver(), (try? await Task.sleep(for: Self.pause)) != nil {}
                return nil
            }
            let first = try await group.next() ?? nil
            group.cancelAll()
            // The watching task ended first. The reading one may still have the answer, with the
            // damage that it met.
            if let first { return first }
            return try await group.next() ?? nil
        }
        guard let found else { return }
        noteTornTail(found.tornByteCount)
        try finish(found.damage)
    }

    private func follow(
        _ call: EventsCall,
        _ service: any AdministrationService
    ) async throws -> EventsCall.Answer? {
        var printer = LinePrinter(options)
        return try await FollowedEvents(service: service).pass(call) { event in
            try printer.print(event)
            // At once, because the next event may come hours later.
            try printer.flush()
        }
    }

    /// Returns true if no more output is needed.
    private func isOver() throws -> Bool {
        // Polling for no events only reports that the other end of a pipe has closed.
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        let found = poll(&output, 1, 0)
        if found > 0, output.revents & Int16(POLLERR | POLLHUP) != 0 { throw ClosedPipe() }
        return wasInterrupted.load(ordering: .relaxed)
    }
}

/// The flag that a signal's handler sets; the handler may do nothing else.
private let wasInterrupted = Atomic(false)

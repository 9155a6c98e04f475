// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkLog
import TidemarkModel

/// A moment in a store's history, as it is written on the command line.
enum Point: Equatable {
    /// Everything up to and including one event.
    case sequence(UInt64)
    /// Everything that a device with this change token has seen.
    case token(String)
    /// Every commit at or before a time in milliseconds since 1970.
    case time(Int64)
    /// Everything but the given number of newest events.
    case back(UInt64)

    /// Reads a point; `now` returns the time from which an age counts, in milliseconds since 1970.
    init(_ text: String, now: () -> Int64 = PastTime.wallClock) throws(ValidationError) {
        // First, because no other form begins like a token. A damaged token is then reported as a
        // token and not as an unknown form.
        if text.hasPrefix("t.") {
            self = .token(text)
        } else if let sequence = Self.number(text[...]) {
            self = .sequence(sequence)
        } else if text.hasPrefix("-"), let count = Self.number(text.dropFirst()), count > 0 {
            self = .back(count)
        } else if let time = PastTime.milliseconds(text, now: now) {
            self = .time(time)
        } else {
            throw ValidationError(
                """
                '\(text)' is not a point in a store's history. A point is a sequence number (1042), \
                so many events before the newest (-10), a change token (t.…), or \(PastTime.forms).
                """
            )
        }
    }

    /// The number, if the text is one as people write it: digits alone, no zeros before others.
    private static func number(_ text: Substring) -> UInt64? {
        guard let first = text.utf8.first,
            text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            first != UInt8(ascii: "0") || text == "0"
        else { return nil }
        return UInt64(text)
    }

    private static func changeToken(_ text: String) throws(CommandError) -> ChangeToken {
        guard let token = ChangeToken(text) else {
            throw CommandError(
                "'\(text)' is not a change token. A token begins with t., and `tidemark changes` prints it."
            )
        }
        return token
    }

    /// Returns the position that is a number of events before the newest one.
    private static func position(
        _ count: UInt64,
        before newest: SequenceNumber
    ) throws(CommandError) -> SequenceNumber {
        guard count <= newest.rawValue else {
            throw CommandError(
                "The newest event is \(newest); there are no \(count) events to go back."
            )
        }
        return SequenceNumber(rawValue: newest.rawValue - count)
    }

    /// Returns the position of the point, by a call to a service.
    func position(by service: any AdministrationService) async throws -> SequenceNumber {
        switch self {
        case .sequence(let number):
            return SequenceNumber(rawValue: number)
        case .time(let time):
            return try await service.answer(PositionCall(atOrBefore: time)).position
        case .back(let count):
            return try Self.position(
                count,
                before: try await service.answer(PositionCall()).newest
            )
        case .token(let text):
            let token = try Self.changeToken(text)
            return try await service.answer(PositionCall(of: token)).position
        }
    }

    /// Returns the position of the point in a store that is not open here.
    ///
    /// A time is rejected in a damaged store: the search skips damaged events, and may end too
    /// early.
    func position(inStoreAt path: String) throws -> SequenceNumber {
        switch self {
        // For numbers the log alone is read, so that they also work in a store whose views cannot
        // be opened.
        case .sequence(let number):
            let position = SequenceNumber(rawValue: number)
            let reader = try LogReader(path, fileSystem: PosixFileSystem())
            // A writer vouches for its last events a moment after it has written them; `settle`
            // waits for that.
            if position > reader.durableSequence { try reader.settle() }
            guard position <= reader.durableSequence else {
                throw CommandError(
                    "\(path): The last event is \(reader.durableSequence); there is no event "
                        + "\(number)."
                )
            }
            return position
        case .back(let count):
            let reader = try LogReader(path, fileSystem: PosixFileSystem())
            // As above: the events that are counted include those.
            try reader.settle()
            return try Self.position(count, before: reader.durableSequence)
        case .token(let text):
            let store = try Store.open(at: path, access: .reading)
            defer { try? store.close() }
            return try store.position(of: Self.changeToken(text))
        case .time(let time):
            let store = try Store.open(at: path, access: .reading)
            defer { try? store.close() }
            // A search works because commit times never decrease along the log.
            let position = try store.position(atOrBefore: time)
            let damage = try store.eventSource.damage
            if damage.isEmpty { return position }
            for damage in damage { note("Damaged: \(damage.text)") }
            throw CommandError(
                "\(path): The store is damaged, as said above, so the last event at that time is "
                    + "unknown. Give a sequence number; `tidemark log dump \(path)` shows events with "
                    + "their times."
            )
        }
    }

    /// The text of `--help` about every option that takes a point.
    static let explanation = """
        a sequence number, -N for N events of the whole store before the newest, a change token \
        (t.…), an RFC 3339 time, a date (its start in UTC), or an age such as '2 hours ago'
        """
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkLog

/// A moment in a store's history, as it is written on the command line.
enum Point: Equatable {
    /// Everything up to and including one event.
    case sequence(UInt64)
    /// Everything that a device with this change token has seen.
    case token(String)
    /// Every commit at or before a time in milliseconds since 1970.
    case time(Int64)

    /// Reads a sequence number, a change token or an RFC 3339 time.
    init(_ text: String) throws(ValidationError) {
        if text.hasPrefix("t.") {
            self = .token(text)
        } else if let first = text.utf8.first,
            text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let sequence = UInt64(text), first != UInt8(ascii: "0") || text == "0"
        {
            self = .sequence(sequence)
        } else if let time = RFC3339.milliseconds(text) {
            self = .time(time)
        } else {
            throw ValidationError(
                """
                '\(text)' is not a point in a store's history. A point is a sequence number (1042), \
                a change token (t.…), or an RFC 3339 time with its offset (2026-02-03T04:05:06Z).
                """
            )
        }
    }

    /// The position it stands for in a store.
    func position(in store: Store) throws -> SequenceNumber {
        switch self {
        case .sequence(let number):
            return SequenceNumber(rawValue: number)
        case .time(let time):
            return try store.position(atOrBefore: time)
        case .token(let text):
            guard let token = ChangeToken(text) else {
                throw CommandError("'\(text)' is not a change token that a store has made.")
            }
            return try store.position(of: token)
        }
    }

    /// The same in a store that is not open here.
    ///
    /// A time is refused in a damaged store: the search passes over what is damaged, and may end too early.
    func position(inStoreAt path: String) throws -> SequenceNumber {
        if case .sequence(let number) = self {
            let position = SequenceNumber(rawValue: number)
            let reader = try LogReader(path, fileSystem: PosixFileSystem())
            if position > reader.durableSequence { try reader.settle() }
            guard position <= reader.durableSequence else {
                throw CommandError(
                    "\(path): The last event is \(reader.durableSequence); there is no event \(number)."
                )
            }
            return position
        }
        let store = try Store.open(at: path, access: .reading)
        defer { try? store.close() }
        let position = try position(in: store)
        let damage = try store.reader?.damage ?? []
        guard case .time = self, !damage.isEmpty else { return position }
        for damage in damage { note("Damaged: \(damage.text)") }
        throw CommandError(
            "\(path): The store is damaged, as said above, so that nobody can say which event was the last "
                + "at that time. Give a sequence number; `tidemark log dump` shows events with their times."
        )
    }

    /// What `--help` says about every option that takes one.
    static let explanation = "a sequence number, a change token (t.…), or an RFC 3339 time"
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// The bytes of entries: `Docs/formats/journal.md`.
extension JournalEntry.Content {
    /// Raw values are on disk.
    enum Kind: UInt8 {
        case began = 1
        case ended = 2
        case refused = 3
        case told = 4
    }

    /// The approximate maximum size of an entry's rejections, in bytes.
    private static let refusalByteCount = 64 << 10
    /// The maximum length of a message, in characters.
    private static let messageLength = 1_000

    /// The content's bytes.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .began(let extent):
            bytes = [Kind.began.rawValue, extent.rawValue]
        case .ended:
            bytes = [Kind.ended.rawValue]
        case .refused(let refused):
            bytes.append(Kind.refused.rawValue)
            bytes.append(refused.call, refused.caller, since: refused.since)
            Self.append(refused, to: &bytes)
        case .told(let told):
            bytes.reserveCapacity(256)
            bytes.append(Kind.told.rawValue)
            bytes.append(told.call, told.caller, since: told.since)
            bytes.append((told.moreComing ? 1 : 0) | (told.zone == nil ? 0 : 2))
            bytes.append(integer: told.shownThrough.rawValue)
            bytes.append(variableInteger: UInt64(told.changeCount))
            bytes.append(token: told.token)
            if let zone = told.zone { bytes.append(zone) }
        }
        return bytes
    }

    private static func append(_ refused: JournalEntry.Refused, to bytes: inout [UInt8]) {
        var list: [UInt8] = []
        var count = 0
        for refusal in refused.refusals {
            // Checked before each item, so an entry exceeds the limit by at most one item. The rest
            // is only counted.
            if list.count > refusalByteCount { break }
            count += 1
            switch refusal.item {
            case nil:
                list.append(0)
            case .record(let record):
                list.append(1)
                list.append(record.zone)
                list.append(string: record.recordName)
            case .zone(let zone):
                list.append(2)
                list.append(zone)
            case .subscription(let id):
                list.append(3)
                list.append(string: id)
            }
            list.append(variableInteger: UInt64(refusal.code.rawValue))
            // A text has at most as many characters as bytes, so most texts are not counted.
            let isLong = refusal.message.utf8.count > messageLength
            list.append(
                string: isLong ? String(refusal.message.prefix(messageLength)) : refusal.message
            )
        }
        let omittedCount = refused.refusals.count - count + refused.omittedCount
        bytes.append(variableInteger: UInt64(count))
        bytes.append(variableInteger: UInt64(omittedCount))
        bytes += list
    }
}

extension JournalEntry {
    /// The facts that an entry records about the caller.
    ///
    /// Frozen.
    enum Flag {
        static let user: UInt8 = 1 << 0
        static let device: UInt8 = 1 << 1
        static let build: UInt8 = 1 << 2
        static let request: UInt8 = 1 << 3
        static let since: UInt8 = 1 << 4
    }
}

extension [UInt8] {
    fileprivate mutating func append(
        _ call: JournalEntry.Call,
        _ caller: Caller,
        since: ChangeToken?
    ) {
        append(call.rawValue)
        var flags: UInt8 = 0
        if caller.user != nil { flags |= JournalEntry.Flag.user }
        if caller.device != nil { flags |= JournalEntry.Flag.device }
        if caller.build != nil { flags |= JournalEntry.Flag.build }
        if caller.requestID != nil { flags |= JournalEntry.Flag.request }
        if since != nil { flags |= JournalEntry.Flag.since }
        append(flags)
        self += caller.database.identityBytes
        if let user = caller.user { append(string: user.userRecordName) }
        if let device = caller.device { append(string: device) }
        if let build = caller.build { append(string: build) }
        if let request = caller.requestID { append(string: request) }
        if let since { append(token: since) }
    }

    fileprivate mutating func append(_ zone: ZoneID) {
        append(string: zone.ownerName)
        append(string: zone.zoneName)
    }

    fileprivate mutating func append(token: ChangeToken) {
        append(variableInteger: UInt64(token.bytes.count))
        self += token.bytes
    }
}

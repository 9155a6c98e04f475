// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// The outcomes of a request's items as bytes at the end of an envelope.
///
/// In nearly every request, each item is done by the next event. That case takes three bytes, for
/// any number of items.
enum OutcomeList {
    /// The encoding of the list.
    ///
    /// Frozen.
    private enum Form: UInt8 {
        case none = 0
        case inOrder = 1
        case listed = 2
    }

    static func append(_ outcomes: [ItemOutcome], to bytes: inout [UInt8]) {
        guard let first = outcomes.first else {
            bytes.append(Form.none.rawValue)
            return
        }
        // The first event of the commit may belong to no item, such as the creation of a zone. So
        // `start` is stored.
        if case .event(let start) = first,
            outcomes.indices.allSatisfy({ outcomes[$0] == .event(start + $0) })
        {
            bytes.append(Form.inOrder.rawValue)
            bytes.append(variableInteger: UInt64(outcomes.count))
            bytes.append(variableInteger: UInt64(start))
            return
        }
        bytes.append(Form.listed.rawValue)
        bytes.append(variableInteger: UInt64(outcomes.count))
        for outcome in outcomes {
            switch outcome {
            case .refused(let code, let message, let against):
                bytes.append(variableInteger: 0)
                bytes.append(variableInteger: UInt64(code))
                bytes.append(string: message)
                bytes.append(variableInteger: against.rawValue)
            case .nothingToDo:
                bytes.append(variableInteger: 1)
            case .event(let index):
                // The numbers 0 and 1 stand for the two outcomes without an event.
                bytes.append(variableInteger: UInt64(index) + 2)
            }
        }
    }

    static func read(
        _ span: RawSpan,
        at offset: inout Int
    ) throws(EventFormatError) -> [ItemOutcome] {
        guard offset < span.byteCount else { throw CommitEnvelope.cutOff }
        let number = span.byte(at: offset)
        offset += 1
        guard let form = Form(rawValue: number) else {
            throw EventFormatError("An outcome list has the unknown form \(number).")
        }
        switch form {
        case .none:
            return []
        case .inOrder:
            let count = try readCount(span, at: &offset)
            let start = try readCount(span, at: &offset)
            // `readCount` limits `count`, so a few damaged bytes cannot make this list exhaust the
            // memory.
            return (0..<count).map { .event(start + $0) }
        case .listed:
            let count = try readCount(span, at: &offset)
            // No space is reserved for `count`, which may be damaged. Every outcome takes at least
            // one byte, so the length of the span bounds the list.
            var outcomes: [ItemOutcome] = []
            for _ in 0..<count {
                outcomes.append(try readOne(span, at: &offset))
            }
            return outcomes
        }
    }

    /// The exclusive upper bound of the number of items and events of one request.
    private static let countLimit: UInt64 = 1 << 24

    private static func readCount(
        _ span: RawSpan,
        at offset: inout Int
    ) throws(EventFormatError) -> Int {
        guard let count = span.variableInteger(at: &offset), count < countLimit else {
            throw CommitEnvelope.cutOff
        }
        return Int(count)
    }

    private static func readOne(
        _ span: RawSpan,
        at offset: inout Int
    ) throws(EventFormatError) -> ItemOutcome {
        // The limit keeps the conversion to `Int` below from overflowing.
        guard let form = span.variableInteger(at: &offset), form < countLimit else {
            throw CommitEnvelope.cutOff
        }
        switch form {
        case 0:
            let code = try readCount(span, at: &offset)
            guard let message = span.string(at: &offset),
                let against = span.variableInteger(at: &offset)
            else { throw CommitEnvelope.cutOff }
            return .refused(
                code: code,
                message: message,
                against: SequenceNumber(rawValue: against)
            )
        case 1:
            return .nothingToDo
        default:
            return .event(Int(form) - 2)
        }
    }
}

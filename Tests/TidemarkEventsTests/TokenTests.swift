// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkModel

@Suite struct TokenTests {
    let store = StoreID(low: 1, high: 2)
    var hash: StoreHash { StoreHash(store: store) }
    /// Two incarnations: the first was cut after position 99.
    let line = IncarnationLine(entries: [
        .init(incarnation: Incarnation(rawValue: 10), first: SequenceNumber(rawValue: 1)),
        .init(incarnation: Incarnation(rawValue: 11), first: SequenceNumber(rawValue: 100)),
    ])

    func content(
        level: TokenContent.Level = .zone,
        place: UInt64 = 5,
        incarnation: UInt64 = 11,
        sequence: UInt64 = 120,
        quiet: UInt64 = 0
    ) -> TokenContent {
        TokenContent(
            level: level,
            place: place,
            incarnation: Incarnation(rawValue: incarnation),
            sequence: SequenceNumber(rawValue: sequence),
            quiet: SequenceNumber(rawValue: quiet)
        )
    }

    func check(_ content: TokenContent, horizon: UInt64 = 0) -> TokenDefect? {
        do {
            try content.check(
                level: .zone,
                place: 5,
                line: line,
                visible: SequenceNumber(rawValue: 200),
                horizon: SequenceNumber(rawValue: horizon)
            )
            return nil
        } catch {
            return error
        }
    }

    @Test func `A token round-trips, also as text`() throws {
        let made = content(sequence: 3, quiet: 4)
        let token = made.token(of: store, hash: hash)
        #expect(try TokenContent(token, store: store, hash: hash) == made)
        let printed = try #require(ChangeToken(token.description))
        #expect(try TokenContent(printed, store: store, hash: hash) == made)
        #expect(token.description.hasPrefix("t."))
    }

    @Test func `A token with any flipped bit is rejected`() {
        let token = content().token(of: store, hash: hash)
        for bit in 0..<token.bytes.count * 8 {
            var bytes = token.bytes
            bytes[bit / 8] ^= 1 << (bit % 8)
            let expected: TokenDefect = (2..<10).contains(bit / 8) ? .otherStore : .damaged
            #expect(throws: expected) {
                try TokenContent(ChangeToken(bytes: bytes), store: store, hash: hash)
            }
        }
        for count in 0..<token.bytes.count {
            #expect(throws: TokenDefect.damaged) {
                try TokenContent(
                    ChangeToken(bytes: Array(token.bytes[..<count])),
                    store: store,
                    hash: hash
                )
            }
        }
    }

    @Test func `A token of a newer version is rejected, although its check is right`() {
        var bytes = content().token(of: store, hash: hash).bytes
        let end = bytes.count - 8
        for version in [UInt8(1), 2] {
            bytes[0] = version
            let check = hash.tokenCheck(bytes.span.bytes.extracting(0..<end))
            bytes.store(integer: check, at: end)
            let found = try? TokenContent(ChangeToken(bytes: bytes), store: store, hash: hash)
            #expect((found == content()) == (version == 1))
        }
        #expect(throws: TokenDefect.damaged) {
            try TokenContent(ChangeToken(bytes: bytes), store: store, hash: hash)
        }
    }

    @Test func `A token of another store is reported as otherStore`() {
        let other = StoreID(low: 3, high: 2)
        let token = content().token(of: other, hash: StoreHash(store: other))
        #expect(throws: TokenDefect.otherStore) {
            try TokenContent(token, store: store, hash: hash)
        }
    }

    @Test func `A token is accepted, or rejected with the reason`() {
        #expect(check(content()) == nil)
        #expect(check(content(sequence: 200)) == nil)
        #expect(check(content(sequence: 201)) == .future)
        #expect(check(content(quiet: 201)) == .future)
        #expect(check(content(level: .database)) == .otherLevel)
        #expect(check(content(place: 6)) == .otherPlace)
        #expect(check(content(incarnation: 12)) == .unknownIncarnation)
        #expect(check(content(incarnation: 10, sequence: 99)) == nil)
        #expect(check(content(incarnation: 10, sequence: 100)) == .beyondCut)
        #expect(check(content(incarnation: 10, sequence: 50, quiet: 100)) == .beyondCut)
        let cases: [(incarnation: UInt64, known: UInt64, defect: TokenDefect?)] = [
            (11, 200, nil), (11, 201, .future), (10, 99, nil), (10, 100, .beyondCut),
        ]
        for (incarnation, known, defect) in cases {
            var content = content(incarnation: incarnation, sequence: 50)
            content.known = SequenceNumber(rawValue: known)
            #expect(check(content) == defect)
        }
    }

    @Test func `A token below the horizon is expired`() {
        #expect(check(content(sequence: 120), horizon: 120) == nil)
        #expect(check(content(sequence: 119), horizon: 120) == .belowHorizon)
        // A first sync that is still going on is not told of deletions from before it began.
        #expect(check(content(sequence: 20, quiet: 120), horizon: 120) == nil)
    }
}

@Suite struct TagTests {
    @Test func `A tag round-trips`() {
        for sequence in [UInt64(1), 35, 36, 46_655, 1 << 40, .max] {
            for bits in [UInt32(0), 1, .max] {
                let content = TagContent(
                    sequence: SequenceNumber(rawValue: sequence),
                    incarnationBits: bits
                )
                let text = String(sequence, radix: 36) + "-" + String(bits, radix: 36)
                #expect(content.tag.text == text)
                #expect(TagContent(content.tag) == content)
                #expect(RecordChangeTag(text) == content.tag)
                #expect(Set([RecordChangeTag(text), content.tag]).count == 1)
            }
        }
    }

    @Test(arguments: [
        "", "-", "1", "1-", "-1", "0-1", "01-1", "1-01", "1-A", "A-1", "1-1-1", "1 -1", "é-1",
        "3w5e11264sgsg-1", "1-1z141z4", "+1-1", "1-zzzzzzzz",
    ])
    func `Text that is not a tag is not parsed`(_ text: String) {
        #expect(TagContent(RecordChangeTag(text)) == nil)
        #expect(RecordChangeTag(text).text == text)
    }

    @Test func `A version is identified by its sequence and incarnation`() {
        let line = IncarnationLine(entries: [
            .init(
                incarnation: Incarnation(rawValue: 1 << 32 | 7),
                first: SequenceNumber(rawValue: 1)
            ),
            .init(incarnation: Incarnation(rawValue: 8), first: SequenceNumber(rawValue: 50)),
        ])
        let early = SequenceNumber(rawValue: 49)
        let late = SequenceNumber(rawValue: 50)
        #expect(TagContent(of: early, in: line).incarnationBits == 7)
        #expect(TagContent(of: late, in: line).incarnationBits == 8)
        #expect(TagContent(sequence: late, incarnationBits: 8).matches(late, in: line))
        #expect(!TagContent(sequence: late, incarnationBits: 7).matches(late, in: line))
        #expect(!TagContent(sequence: early, incarnationBits: 7).matches(late, in: line))
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GeneratedQueries
import TestSupport
import Testing

@testable import TidemarkModel

func record(_ fields: KeyValuePairs<String, FieldValue?>) throws -> Record {
    let moment = Authorship(time: 1000, user: UserID("u-1"))
    let header = RecordHeader(
        recordName: "note-1",
        recordType: "Note",
        created: moment,
        modified: moment,
        parentName: "above"
    )
    return Record(
        zone: .default,
        changeTag: nil,
        body: RecordBody(header, fields: try Fields(fields))
    )
}

@Suite struct MatcherTests {
    @Test(arguments: 0..<(runsLongTests ? 100 : 6) as Range<UInt64>)
    func `The matcher agrees with a naive evaluation`(seed: UInt64) throws {
        var generator = PredicateGenerator(seed: seed)
        let records = try (0..<60).map { _ in try generator.record() }
        let now = ValuePool.times[2]
        var matchCount = 0
        for _ in 0..<60 {
            let predicate = generator.predicate()
            let matcher = try Query.Matcher(predicate, now: now)
            let naive = NaiveEvaluation(now: now)
            for record in records {
                let isMatch = matcher.matches(record)
                matchCount += isMatch ? 1 : 0
                guard isMatch != naive.matches(predicate, record) else { continue }
                let fields = record.fields.map { "\($0.name): \($0.value.map { "\($0)" } ?? "")" }
                Issue.record("seed \(seed): \(predicate) is \(isMatch) for \(fields)")
                return
            }
        }
        #expect(matchCount > 300 && matchCount < 3300)
    }

    @Test func `ALL IN compares with many values as with few`() throws {
        let list = try record(["n": .int64List(Array(0..<100) + Array(0..<100))])
        for count in [1, 8, 9, 100, 101] {
            // Each twice, in another order.
            let wanted = (0..<Int64(count)).reversed() + (0..<Int64(count))
            let all = Query.Predicate.compare("n", .containsAll, .value(.int64List(Array(wanted))))
            #expect(try all.matches(list, now: 0) == (count <= 100))
        }
        let texts = try record(["t": .stringList((0..<20).map { "Word\($0)" })])
        let folded = (0..<20).map { "wORD\($0)" } + ["word3"]
        let all = Query.Comparison(
            "t",
            .containsAll,
            .value(.stringList(folded)),
            options: .caseInsensitive
        )
        #expect(try Query.Predicate.comparison(all).matches(texts, now: 0))
    }

    /// One record, and what it fulfils and does not.
    static let examples: [(String, Bool)] = [
        ("title == 'Hello, World!'", true), ("title == 'hello, world!'", false),
        ("title ==[c] 'hello, world!'", true), ("title BEGINSWITH 'Hello'", true),
        ("title BEGINSWITH 'hello'", false), ("title BEGINSWITH[c] 'hello'", true),
        ("title != 'x'", true), ("missing != 'x'", true), ("missing == nil", true),
        ("title != nil", true), ("missing < 1", false), ("NOT missing < 1", true),
        ("cafe == 'Cafe\u{301}'", false), ("cafe ==[d] 'Cafe\u{301}'", true),
        ("cafe ==[cd] 'CAFE'", true), ("cafe IN[cd] {'x', 'cafe'}", true),
        ("count == 3", true), ("count == 3.0", true), ("count == '3'", false),
        ("count BETWEEN {1, 3}", true), ("count BETWEEN {4, 9}", false), ("price > 2", true),
        ("price < 3", true), ("count IN {1, 2, 3}", true), ("count IN {1, 2.5}", false),
        ("tags CONTAINS 'red'", true), ("'Red' IN tags", false), ("'Red' IN[c] tags", true),
        ("ANY tags ==[c] 'Red'", true), ("ANY tags IN {'x', 'blue'}", true),
        ("ALL {'red', 'blue'} IN tags", true), ("ALL {'red', 'x'} IN tags", false),
        ("ALL {} IN tags", true), ("ANY {} IN tags", false), ("ALL {} IN title", false),
        ("ANY tags BEGINSWITH 're'", true), ("tags == {'red', 'blue'}", true),
        ("tags == {'blue', 'red'}", false), ("title CONTAINS 'Hello'", false),
        ("owner == REFERENCE('o')", true), ("owner == 'o'", false), ("owner BEGINSWITH 'o'", true),
        ("recordID == 'note-1'", true), ("recordID BEGINSWITH 'note-'", true),
        ("parent == 'above'", true), ("share == nil", true),
        ("creatorUserRecordID IN {'u-1', 'u-2'}", true), ("creationDate < now()", true),
        ("modificationDate == TIMESTAMP(1000)", true), ("self CONTAINS 'WORLD'", true),
        ("self CONTAINS 'wor'", false), ("self CONTAINS 'x hello'", true),
        ("ALL tokenize('x hello', 'Cdl') IN allTokens", false),
        ("ALL tokenize('hello red', 'Cdl') IN allTokens", true),
        ("title TOKENMATCHES 'red'", false), ("tags TOKENMATCHES 'red'", true),
        ("self CONTAINS 'the'", false), ("self CONTAINS ''", false),
        ("ALL tokenize('the', 'Cdl') IN allTokens", false), ("self CONTAINS 'cafe'", true),
        ("secret == 'x'", false), ("secret == nil", true), ("self CONTAINS 'x'", false),
        ("distanceToLocation:fromLocation:(place, LOCATION(52.52, 13.41)) < 3000", true),
        ("distanceToLocation:fromLocation:(place, LOCATION(52.52, 13.41)) < 2000", false),
        ("distanceToLocation:fromLocation:(place, LOCATION(52.5, 13.4)) <= 0", true),
        ("distanceToLocation:fromLocation:(place, LOCATION(-52, -167)) > 1e7", true),
        ("place == LOCATION(52.5, 13.4)", true), ("photo != nil", true),
        ("TRUEPREDICATE", true), ("FALSEPREDICATE", false),
        ("(count == 1 OR count == 3) AND NOT (title == 'x')", true),
    ]

    @Test(arguments: examples)
    func `A record matches the expected predicates`(text: String, isFulfilled: Bool) throws {
        let place = Location(latitude: 52.5, longitude: 13.4, altitude: 30)
        var builder = FieldsBuilder()
        try builder.set("title", "Hello, World!")
        try builder.set("cafe", "Café")
        try builder.set("count", 3)
        try builder.set("price", 2.5)
        try builder.set("tags", .stringList(["red", "blue"]))
        try builder.set("owner", .reference(Reference(recordName: "o", action: .deleteSelf)))
        try builder.set("place", .location(place))
        let blob = AssetReference(checksum: Array(repeating: 1, count: 32), byteCount: 1)
        try builder.set("photo", .asset(blob))
        try builder.set("secret", "x", isEncrypted: true)
        try builder.set("gone", nil)
        let base = try record([:])
        let header = RecordHeader(
            recordName: "note-1",
            recordType: "Note",
            created: base.created,
            modified: base.modified,
            parentName: "above"
        )
        let body = RecordBody(header, fields: try builder.finish())
        let subject = Record(zone: .default, changeTag: nil, body: body)
        let predicate = try Query.Predicate(format: text)
        #expect(try predicate.matches(subject, now: 5000) == isFulfilled)
        #expect(try Query.Predicate.not(predicate).matches(subject, now: 5000) != isFulfilled)
    }

    @Test func `Integers and doubles are compared exactly`() throws {
        let record = try record([
            "whole": .int64(1 << 53 + 1), "greatest": .int64(.max), "real": .double(0x1p53),
        ])
        func matches(_ text: String) throws -> Bool {
            try Query.Predicate(format: text).matches(record, now: 0)
        }
        #expect(try matches("whole > 9007199254740992.0"))
        #expect(try !matches("whole == 9007199254740992.0"))
        #expect(try matches("greatest < 9223372036854775808.0"))
        #expect(try matches("greatest < 1e300 AND greatest > -1e300"))
        #expect(try matches("real < 9007199254740993"))
        #expect(try matches("real == 9007199254740992"))
    }

    @Test func `A search for all words uses only the given fields`() throws {
        let record = try record(["title": "one", "body": "two", "tags": .stringList(["three"])])
        func matches(_ text: String, _ fields: [String]?) throws -> Bool {
            let predicate = Query.Predicate.words(Query.WordSearch(text, requiresAll: true))
            return try Query.Matcher(predicate, now: 0, searchedFields: fields).matches(record)
        }
        #expect(try matches("one two three", nil))
        #expect(try matches("one three", ["title", "tags"]))
        #expect(try !matches("one two", ["title", "tags"]))
        #expect(try !matches("one", []))
    }

    @Test func `A search for more than 64 words finds all of them`() throws {
        let words = (0..<100).map { "w\($0)" }
        let all = try record(["body": .string(words.joined(separator: " "))])
        let most = try record(["body": .string(words.dropLast().joined(separator: " "))])
        for count in [63, 64, 65, 100] {
            let text = words.suffix(count).joined(separator: " ")
            let search = Query.WordSearch(text, requiresAll: true)
            let matcher = try Query.Matcher(.words(search), now: 0)
            #expect(matcher.matches(all))
            #expect(!matcher.matches(most))
        }
    }

    @Test func `An invalid predicate is rejected`() {
        let predicate = Query.Predicate.and([.compare("a", .in, 1)])
        let error = #expect(throws: SyncError.self) { try Query.Matcher(predicate, now: 0) }
        #expect(
            error?.message
                == "The predicate \"a IN 1\" was rejected: IN needs a list such as {1, 2}; found INT64."
        )
    }

    @Test func `Accents are removed as Unicode decomposes them`() {
        for value in 0xA0..<0x1_0000 as Range<UInt32> {
            guard let scalar = Unicode.Scalar(value), !(0x2E80..<0xFB1D).contains(value) else {
                continue
            }
            let text = String(Character(scalar))
            let decomposed = text.decomposedStringWithCanonicalMapping.unicodeScalars
            let rest = decomposed.filter { !Accents.isMark($0.value) }
            guard let base = rest.first, rest.count == 1, base.properties.isAlphabetic,
                decomposed.first.map({ !Accents.isMark($0.value) }) == true
            else { continue }
            #expect(Accents.base(of: value) == base.value, "U+\(String(value, radix: 16))")
        }
        #expect(FoldedText.bytes(of: "한", .all) == Array("\u{1112}\u{1161}\u{11AB}".utf8))
        #expect(FoldedText.bytes(of: "À côté de l'ŒUVRE", .all) == Array("a cote de l'œuvre".utf8))
        #expect(FoldedText.bytes(of: "が", .all) == Array("が".utf8))
        #expect(FoldedText.bytes(of: "É", .caseInsensitive) == Array("é".utf8))
        #expect(FoldedText.bytes(of: "É", .diacriticInsensitive) == Array("E".utf8))
    }

    @Test(arguments: [
        ("Hello, world!", ["hello", "world"]), ("  ", []), ("«Été» — C++", ["c++", "ete"]),
        ("don't user@example.com", ["don't", "user@example.com"]), ("a a A", ["a"]),
        ("tab\tnew\nline\u{3000}wide", ["line", "new", "tab", "wide"]), ("...", []),
        ("\u{1F30A} $5", ["$5", "\u{1F30A}"]),
    ])
    func `A text is split into words`(text: String, words: [String]) {
        let found = Query.WordSearch.foldedWords(of: text)
        #expect(found.map { String(decoding: $0, as: UTF8.self) } == words)
    }

    @Test func `Values that are not of their type are absent`() throws {
        let whole = try record(["a": .string("x"), "b": .stringList(["xyz", "uvw"])])
        var generator = SeededGenerator(seed: 7)
        let texts = ["a == 'x'", "ANY b BEGINSWITH 'x'", "self CONTAINS 'xyz'", "b == {'x'}"]
        let matchers = try texts.map {
            try Query.Matcher(try Query.Predicate(format: $0), now: 0)
        }
        for _ in 0..<5000 {
            let bytes = Array(whole.body.bytes).damaged(by: &generator)
            guard let body = try? RecordBody(stored: bytes[...]) else { continue }
            for matcher in matchers { _ = matcher.matches(body) }
        }
        for matcher in matchers.prefix(3) { #expect(matcher.matches(whole)) }
    }
}

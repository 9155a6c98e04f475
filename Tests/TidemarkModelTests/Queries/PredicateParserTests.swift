// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct PredicateParserTests {
    /// Texts as apps write them, and their canonical form.
    static let examples: [(String, String)] = [
        ("TRUEPREDICATE", "TRUEPREDICATE"),
        ("falsepredicate", "FALSEPREDICATE"),
        ("name = 'x'", "name == \"x\""),
        ("name == \"it's\"", "name == \"it's\""),
        ("name != 'a\\'b\\\\\\n\\u00e9\\x41'", "name != \"a'b\\\\\\né" + "A\""),
        ("name <> nil", "name != NULL"),
        ("done == YES", "done == 1"),
        ("done == false and x=>1 && y=<-2", "done == 0 AND x >= 1 AND y <= -2"),
        ("a == 1 || b == 2 AND c == 3", "a == 1 OR (b == 2 AND c == 3)"),
        ("(a == 1 or b == 2) and c == 3", "(a == 1 OR b == 2) AND c == 3"),
        ("((((a == 1))))", "a == 1"),
        ("(name) == 'x'", "name == \"x\""),
        ("((a) == ((1)))", "a == 1"),
        ("NOT (5) < a AND ((b) == 2 OR c == 3)", "NOT (a > 5) AND (b == 2 OR c == 3)"),
        ("!(a == 1)", "NOT (a == 1)"),
        ("NOT a == 1 AND b == 2", "NOT (a == 1) AND b == 2"),
        ("not not a = 1", "NOT (NOT (a == 1))"),
        ("5 < a", "a > 5"),
        ("5 >= a", "a <= 5"),
        ("a == (5)", "a == 5"),
        ("a == 0x1F", "a == 31"),
        ("a == -0b11", "a == -3"),
        ("a == .5", "a == 0.5"),
        ("a == 1e3", "a == 1000.0"),
        ("a == -9223372036854775808", "a == -9223372036854775808"),
        ("a IN {1, 2, 3}", "a IN {1, 2, 3}"),
        ("a in { 1, 2.5 }", "a IN {1.0, 2.5}"),
        ("a IN {}", "a IN {}"),
        ("{1, 2} CONTAINS a", "a IN {1, 2}"),
        ("'x' IN tags", "tags CONTAINS \"x\""),
        ("tags CONTAINS 'x'", "tags CONTAINS \"x\""),
        ("ANY tags = 'x'", "tags CONTAINS \"x\""),
        ("SOME tags CONTAINS 'x'", "tags CONTAINS \"x\""),
        ("ANY tags IN {'x', 'y'}", "ANY {\"x\", \"y\"} IN tags"),
        ("NONE tags IN {'x'}", "NOT (ANY {\"x\"} IN tags)"),
        ("ANY tags BEGINSWITH 'x'", "ANY tags BEGINSWITH \"x\""),
        ("ALL {'x', 'y'} IN tags", "ALL {\"x\", \"y\"} IN tags"),
        ("age BETWEEN {1, 10}", "age BETWEEN {1, 10}"),
        ("title beginswith 'Th'", "title BEGINSWITH \"Th\""),
        ("title BEGINSWITH[cd] 'Th'", "title BEGINSWITH[cd] \"Th\""),
        ("title ==[c] 'th'", "title ==[c] \"th\""),
        ("self contains 'a b'", "allTokens TOKENMATCHES[cdl] \"a b\""),
        ("SELF CONTAINS[c] 'a'", "allTokens TOKENMATCHES[cdl] \"a\""),
        ("allTokens TOKENMATCHES[cdl] 'a'", "allTokens TOKENMATCHES[cdl] \"a\""),
        ("title TOKENMATCHES 'a'", "title TOKENMATCHES[cdl] \"a\""),
        ("ALL tokenize('a b', 'Cdl') IN allTokens", "ALL tokenize(\"a b\", \"Cdl\") IN allTokens"),
        ("ANY tokenize('a b', 'Cdl') IN allTokens", "allTokens TOKENMATCHES[cdl] \"a b\""),
        (
            "ALL tokenize:using:('a', 'cdl') IN title", "ALL tokenize(\"a\", \"Cdl\") IN title"
        ),
        ("creationDate > now()", "creationDate > now()"),
        ("___modTime < CAST(0.5, \"NSDate\")", "modificationDate < TIMESTAMP(978307200500)"),
        ("recordID == 'x'", "recordID == REFERENCE(\"x\")"),
        ("cloudkit.title == 'x'", "cloudkit.title == \"x\""),
        ("#in == 1 AND #a.b == 2", "#in == 1 AND #a.b == 2"),
        ("#title == 1", "title == 1"),
        (
            "distanceToLocation:fromLocation:(place, LOCATION(1, 2)) < 500",
            "distanceToLocation:fromLocation:(place, LOCATION(1.0, 2.0)) < 500.0"
        ),
        (
            "1e3 >= distanceToLocation:fromLocation:(LOCATION(1, 2.5), place)",
            "distanceToLocation:fromLocation:(place, LOCATION(1.0, 2.5)) <= 1000.0"
        ),
    ]

    @Test(arguments: examples)
    func `A text is parsed as its canonical form`(text: String, canonical: String) throws {
        let predicate = try Predicate(format: text)
        #expect(predicate.description == canonical)
        #expect(try Predicate(format: canonical) == predicate)
    }

    /// Texts with arguments, as CloudKit code has them.
    static let withArguments: [(String, [Query.Operand], String)] = [
        ("%K == %@", ["title", "x"], "title == \"x\""),
        ("%K > %d AND n < %ld AND m == %lld", ["a", 1, 2, 3], "a > 1 AND n < 2 AND m == 3"),
        ("a == %i OR a == %u OR a == %lu", [1, 2, 3], "a == 1 OR a == 2 OR a == 3"),
        ("a == %f AND b == %.f", [1.5, 2], "a == 1.5 AND b == 2.0"),
        ("a == %g", [2], "a == 2.0"),
        ("title == '%@'", [], "title == \"%@\""),
        ("done == %@", [true], "done == 1"),
        ("due == %@", [nil], "due == NULL"),
        ("due > %@", [.value(.timestamp(5))], "due > TIMESTAMP(5)"),
        ("due BETWEEN {%@, %@}", [1, 2], "due BETWEEN {1, 2}"),
        ("due BETWEEN %@", [.value(.int64List([1, 2]))], "due BETWEEN {1, 2}"),
        ("kind IN %@", [.value(.stringList(["a", "b"]))], "kind IN {\"a\", \"b\"}"),
        ("%@ IN tags", ["x"], "tags CONTAINS \"x\""),
        ("ANY %K IN %@", ["tags", .value(.stringList(["x"]))], "ANY {\"x\"} IN tags"),
        (
            "owner == %@ AND recordID IN %@",
            [
                .value(.reference(Reference(recordName: "r"))),
                .value(.referenceList([Reference(recordName: "s")])),
            ],
            "owner == REFERENCE(\"r\") AND recordID IN {REFERENCE(\"s\")}"
        ),
        (
            "distanceToLocation:fromLocation:(%K, %@) < %f",
            ["place", .value(.location(Location(latitude: 1, longitude: 2))), 3],
            "distanceToLocation:fromLocation:(place, LOCATION(1.0, 2.0)) < 3.0"
        ),
        ("%K TOKENMATCHES[cdl] %@", ["allTokens", "x"], "allTokens TOKENMATCHES[cdl] \"x\""),
        ("self contains %@", ["x", "unused"], "allTokens TOKENMATCHES[cdl] \"x\""),
        ("%K == 1", ["in"], "#in == 1"),
        ("%K == 1", ["creationDate"], ""),
    ]

    @Test(arguments: withArguments)
    func `Arguments are inserted`(format: String, arguments: [Query.Operand], canonical: String) {
        #expect(((try? Predicate(format: format, arguments))?.description ?? "") == canonical)
    }

    @Test func `Text up to the maximum length and depth is parsed, and rejected beyond it`() {
        let open = String(repeating: "(", count: 64)
        let close = String(repeating: ")", count: 64)
        #expect((try? Predicate(format: open + "a == 1" + close)) == .compare("a", .equal, 1))
        #expect((try? Predicate(format: "a == \(open)1\(close)")) == .compare("a", .equal, 1))
        #expect(message("(\(open)a == 1\(close))").contains("More than 64 brackets"))
        #expect(message("NOT a == \(open)1\(close)").contains("More than 64 brackets"))
        #expect(message(String(repeating: "NOT ", count: 25_000)).contains("More than 64"))
        for part in ["(", "a == (", "a IN {", "{", "tokenize(", "CAST(", "f("] {
            let text = "a == " + String(repeating: part, count: 99_000 / part.utf8.count)
            #expect(!message(text).isEmpty, "\(part)")
        }
        let distances = String(repeating: "distanceToLocation:fromLocation:(", count: 3000)
        #expect(message(distances).contains("More than 64 brackets"))
        let long = "a IN {" + String(repeating: "1, ", count: 33_000) + "1}"
        #expect((try? Predicate(format: long)) != nil)
        #expect(message(long + String(repeating: " ", count: 2000)).contains("at most 100000"))
    }

    private func message(_ text: String) -> String {
        do throws(SyncError) {
            _ = try Predicate(format: text)
            return ""
        } catch {
            return error.message
        }
    }
}

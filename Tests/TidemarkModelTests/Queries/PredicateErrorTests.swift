// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import Testing

@testable import TidemarkModel

@Suite struct PredicateErrorTests {
    /// What is refused, at which character, and the beginning of why.
    static let refused: [(String, Int, String)] = [
        ("", 1, "Expected a field or a value; found the end."),
        ("title", 6, "Expected an operator such as == or IN; found the end."),
        ("title == ", 10, "Expected a field or a value; found the end."),
        ("title == 'x' b == 2", 14, "Expected AND, OR or the end; found 'b'."),
        ("(a == 1", 8, "Expected ')'; found the end."),
        ("(a) LIKE 'x*'", 5, "LIKE is not supported, as it is not in CloudKit. Use BEGINSWITH"),
        ("(a == 1) == 2", 10, "Expected AND, OR or the end; found '=='."),
        ("(a + b) > 3", 4, "Arithmetic is not supported."),
        ("a == 1)", 7, "Expected AND, OR or the end; found ')'."),
        ("a LIKE 'x*'", 3, "LIKE is not supported, as it is not in CloudKit. Use BEGINSWITH"),
        ("a matches '.*'", 3, "MATCHES is not supported"),
        ("é.x == 1", 1, "Key paths such as é.x are not supported"),
        ("a == 1 AND b ENDSWITH 'x'", 14, "ENDSWITH is not supported"),
        ("owner.name == 'x'", 1, "Key paths such as owner.name are not supported"),
        ("items.@count > 1", 7, "Aggregates such as @count are not supported."),
        ("@count > 1", 1, "Aggregates such as @count are not supported."),
        ("a == $x", 6, "Variables are not supported. Write %@"),
        ("SUBQUERY(a, $x, $x == 1)", 1, "The function SUBQUERY is not supported."),
        ("FUNCTION(a, 'x') == 1", 1, "The function FUNCTION is not supported."),
        ("uppercase(a) == 'X'", 1, "The function uppercase is not supported."),
        ("a == 1 + 2", 8, "Arithmetic is not supported."),
        ("a == 'x", 6, "The text that begins here has no end."),
        ("a == 'x\\uZZ'", 8, "Expected 4 hexadecimal digits in this escape."),
        ("a == 'x\\ud800'", 8, "There is no character of this number."),
        ("a == 12x", 8, "A number runs into a name here."),
        ("a == 9223372036854775808", 6, "'9223372036854775808' is not a whole number of 64 bits."),
        ("a == 1e999", 6, "'1e999' is not a number of 64 bits."),
        ("a == b", 6, "Two fields cannot be compared. If this is a text, put it into quotation"),
        ("1 == 1", 1, "Expected a field on one side of ==."),
        ("%@ == 1", 1, "%@ stands for an argument, and there is none left."),
        ("a == %q", 6, "%q stands for an argument, and there is none left."),
        ("a IN 1", 1, "IN needs a list such as {1, 2}; found INT64."),
        ("a IN {1, 'x'}", 10, "A list holds values of one type; this one begins with INT64"),
        ("a IN {1, {2}}", 10, "Expected a value in a list"),
        (
            "a IN {1.5, 9007199254740993}", 12,
            "A list holds values of one type; 9007199254740993 among reals would be rounded."
        ),
        (
            "a IN {9007199254740993, 1.5}", 25,
            "A list holds values of one type; 9007199254740993 among reals would be rounded."
        ),
        ("a IN {1 2}", 9, "Expected ','; found a number."),
        ("a IN {1,}", 9, "Expected a field or a value; found '}'."),
        ("a NOT IN {1}", 3, "Write NOT before the whole comparison"),
        ("a BETWEEN {1}", 1, "BETWEEN needs a list of two values; found 1."),
        ("a BETWEEN {1, 2, 3}", 1, "BETWEEN needs a list of two values; found 3."),
        ("a BEGINSWITH 1", 1, "BEGINSWITH needs a text; found INT64."),
        ("a CONTAINS {1}", 1, "CONTAINS looks for one value."),
        ("a ==[x] 'y'", 6, "Expected options such as cd; found 'x'."),
        ("a ==[c] 1", 1, "Options such as [cd] need a text; a is compared with INT64."),
        ("a ==[c] nil", 1, "Options such as [cd] need a text; a is compared with nil and now()."),
        ("a < nil", 1, "nil can be compared with == and != alone."),
        ("a IN now()", 1, "now() can be compared with"),
        ("a < REFERENCE('x')", 1, "< compares numbers, dates and texts; found REFERENCE."),
        ("creationDate == 'x'", 1, "creationDate is compared with TIMESTAMP; found STRING."),
        ("recordID CONTAINS 'x'", 1, "recordID is not a list."),
        ("self == 'x'", 1, "SELF is supported in one form alone"),
        ("self CONTAINS 1", 1, "SELF is supported in one form alone"),
        ("allTokens == 'x'", 1, "Words are searched for in these forms"),
        ("allTokens CONTAINS 'x'", 1, "Words are searched for in these forms"),
        ("ALL tags IN {1}", 1, "ANY stands before"),
        ("ANY tags > 1", 1, "ANY stands before"),
        ("ANY tags == {1}", 1, "CONTAINS looks for one value."),
        ("in == 1", 1, "Expected a field or a value (a field of this name is written with #)"),
        ("place == LOCATION(91, 0)", 1, "The value for place holds a location at latitude 91.0"),
        ("a == LOCATION(1)", 14, "Expected LOCATION(latitude, longitude)."),
        ("a == TIMESTAMP('x')", 6, "The value in TIMESTAMP(…) is of the wrong type."),
        ("distanceToLocation:fromLocation:(a, 1) < 2", 33, "Expected distanceToLocation"),
        (
            "distanceToLocation:fromLocation:(a, LOCATION(1, 1)) == 2", 1,
            "A distance is compared with <, <=, > or >=; found ==."
        ),
        ("a ~ 1", 3, "Unexpected character '~'."),
        ("# == 1", 2, "Expected the name of a field after #."),
    ]

    @Test(arguments: refused)
    func `Unsupported and invalid syntax is rejected with its position`(
        text: String,
        character: Int,
        reason: String
    ) {
        let error = #expect(throws: SyncError.self) { try Predicate(format: text) }
        #expect(error?.code == .invalidArguments)
        let expected = "The predicate \"\(text)\" was rejected at character \(character): \(reason)"
        let message = error?.message ?? ""
        #expect(message.hasPrefix(expected), "\(message)")
    }

    /// Arguments that do not fit.
    static let misfits: [(String, [Query.Operand], String)] = [
        ("%K == 1", [5], "%K needs the name of a field; its argument is 5."),
        ("%K == 1", ["a.b"], "Key paths such as a.b are not supported"),
        ("%K == 1", ["@max.a"], "Key paths such as @max.a are not supported"),
        ("%K == 1", ["@count"], "'@count' is not the name of a field."),
        ("%K == 1", [""], "'' is not the name of a field."),
        ("a == %d", [1.5], "%d needs a whole number; its argument is 1.5."),
        ("a == %f", ["x"], "%f needs a number; its argument is \"x\"."),
        ("a == %s", [1], "%s needs a text; its argument is 1."),
        ("a == %y", [1], "%y is not supported. Write %@ for a value, %K for a key."),
        ("a == %@ AND b == %@", [1], "%@ stands for an argument, and there is none left."),
        ("a == %@", [.value(.bytes([1]))], "Fields of type BYTES cannot be queried."),
        ("a == %@", [.value(.double(.nan))], "The value for a holds nan"),
        ("a IN {%@}", [nil], "Expected a value in a list"),
    ]

    @Test(arguments: misfits)
    func `An argument of the wrong type is rejected`(
        format: String,
        arguments: [Query.Operand],
        reason: String
    ) {
        let error = #expect(throws: SyncError.self) {
            try Predicate(format: format, arguments)
        }
        #expect(error?.code == .invalidArguments)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `Random and mutated text never traps`(seed: UInt64) {
        var generator = PredicateGenerator(seed: seed)
        let scraps = [
            "(", ")", "{", "}", "[cd]", "%@", "%K", "NOT ", "AND ", "'", "\"", "\\", "#", "ANY ",
            "ALL ", "IN ", "self ", "1", "-", ".", "é", "\u{0}", ",", "now()", "a ", "== ",
            "tokenize", "distanceToLocation:fromLocation:", "CAST(", "\u{1F30A}",
        ]
        var accepted = 0
        for round in 0..<1500 {
            let text: String
            if round.isMultiple(of: 2) {
                let bytes = Array(generator.predicate().description.utf8)
                text = String(decoding: bytes.damaged(by: &generator.random), as: UTF8.self)
            } else {
                text = (0..<12).map { _ in generator.pick(scraps) }.joined()
            }
            let arguments: [Query.Operand] = ["x", 1, nil, .now, .value(.stringList(["a"]))]
            guard let predicate = try? Predicate(format: text, arguments) else { continue }
            accepted += 1
            #expect((try? Predicate(format: predicate.description)) == predicate, "\(text)")
        }
        #expect(accepted > 20)
    }
}

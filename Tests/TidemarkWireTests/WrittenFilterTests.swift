// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import TidemarkWire

/// Predicates as filters of CloudKit Web Services.
@Suite struct WrittenFilterTests {
    private func comparator(_ predicate: String) throws -> String? {
        WebWriter.Filter(try Query.Predicate(format: predicate))?.comparator
    }

    @Test func `A comparison is the filter of its relation`() throws {
        #expect(try comparator("n < 1") == "LESS_THAN")
        #expect(try comparator("n == 1") == "EQUALS")
        #expect(try comparator("n != 1") == "NOT_EQUALS")
        #expect(try comparator("n == nil") == "EQUALS")
        let negated = Query.Predicate.not(.compare("n", .equal, 1))
        #expect(WebWriter.Filter(negated)?.comparator == "NOT_EQUALS")
    }

    @Test func `A predicate that no filter expresses is left out`() throws {
        // Without its value it would be a comparison with nil.
        #expect(try comparator("due < now()") == nil)
        #expect(try comparator("NOT (due < now())") == nil)
        #expect(try comparator("text BEGINSWITH[c] 'a'") == nil)
        let place = Location(latitude: 1, longitude: 2)
        let far = Query.DistanceTest("place", from: place, .greaterThan, 5)
        #expect(WebWriter.Filter(.distance(far)) == nil)
        let near = Query.DistanceTest("place", from: place, .lessThan, 5)
        #expect(WebWriter.Filter(.distance(near))?.comparator == "NEAR")
    }
}

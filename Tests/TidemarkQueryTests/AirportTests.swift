// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TidemarkModel

@testable import TidemarkQuery

/// Real airports, found by SQLite and by vectors.
@Suite struct AirportTests {
    /// `../shared/data` beside the package.
    private static let file = URL(filePath: #filePath)
        .appending(path: "../../../../shared/data/airports.csv").standardized

    private struct Airport {
        var code: String
        var place: Location
    }

    private static func airports() throws -> [Airport] {
        let text = try String(contentsOf: file, encoding: .utf8)
        return text.split(whereSeparator: \.isNewline).dropFirst().compactMap { line in
            // Names may hold commas, the last two columns never.
            let columns = line.split(separator: ",", omittingEmptySubsequences: false)
            guard columns.count >= 7, let code = columns.first,
                let latitude = Double(columns[columns.count - 2]),
                let longitude = Double(columns[columns.count - 1])
            else { return nil }
            return Airport(
                code: String(code),
                place: Location(latitude: latitude, longitude: longitude)
            )
        }
    }

    /// The angle between two vectors, times the Earth's radius.
    private static func distance(_ first: Location, _ second: Location) -> Double {
        func vector(_ place: Location) -> [Double] {
            let latitude = place.latitude * .pi / 180
            let longitude = place.longitude * .pi / 180
            return [cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude)]
        }
        let (a, b) = (vector(first), vector(second))
        let cross = [
            a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0],
        ]
        let length = cross.map { $0 * $0 }.reduce(0, +).squareRoot()
        return 6_371_008.8 * atan2(length, zip(a, b).map(*).reduce(0, +))
    }

    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: file.path),
            "../shared/data/airports.csv is not there"
        )
    )
    func `Airports within a radius equal a vector computation, nearest first`() async throws {
        let airports = try Self.airports()
        #expect(airports.count > 3_000)
        let index = try QueryIndex(path: nil, identity: "airports")
        let changes = try airports.enumerated().map { number, airport in
            let fields = try Fields(["place": .location(airport.place)])
            let body = RecordBody(named: airport.code, ofType: "Airport", fields)
            return IndexedChange(
                sequence: UInt64(number + 1),
                zone: 1,
                previous: 0,
                content: .saved(body)
            )
        }
        try await index.apply(changes, through: IndexPosition(sequence: UInt64(airports.count)))
        let origins = [
            airports[0].place, Location(latitude: 40.6, longitude: -73.8),
            Location(latitude: 71, longitude: -156), Location(latitude: 52, longitude: 179.5),
            Location(latitude: 52, longitude: -179.5),
            Location(latitude: 89.9, longitude: 0), Location(latitude: 13.5, longitude: 144.8),
        ]
        var foundCount = 0
        for origin in origins {
            for radius in [0, 10_000, 250_000.5, 1_500_000, 9e6, 2.1e7] {
                let query = Query(
                    recordType: "Airport",
                    predicate: .distance(.init("place", from: origin, .lessThanOrEqual, radius)),
                    sortDescriptors: [.init("place", distanceFrom: origin)]
                )
                let page = try await index.page(query, zones: [1], limit: 10_000, now: 0)
                let distances = airports.map { Self.distance(origin, $0.place) }
                let expected = distances.indices.filter { distances[$0] <= radius }
                let found = page.records.map(\.sequence).map { Int($0) - 1 }
                #expect(found.sorted() == expected)
                foundCount += found.count
                for (near, far) in zip(found, found.dropFirst()) {
                    // Airports at one place differ by what rounding does.
                    #expect(distances[near] <= distances[far] + 1e-3)
                }
            }
        }
        #expect(foundCount > 10_000)
    }
}

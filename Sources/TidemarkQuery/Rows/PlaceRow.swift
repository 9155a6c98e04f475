// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TidemarkModel

/// A location as a row of an R*Tree.
struct PlaceRow {
    private let place: Location

    init(_ place: Location) {
        self.place = place
    }

    /// Creates an empty location index.
    static func make(for column: Column, _ database: Database) throws {
        try database.execute(
            sql: """
                CREATE VIRTUAL TABLE \(column.placeTable) USING rtree(
                    id, latitudeFrom, latitudeTo, longitudeFrom, longitudeTo
                )
                """
        )
    }

    /// Returns the statement that inserts a row into a location index.
    static func insertion(into column: Column) -> String {
        "INSERT INTO \(column.placeTable) VALUES (?, ?, ?, ?, ?)"
    }

    func insert(_ row: Int64, _ statement: PreparedStatement) throws {
        statement.bind([
            // An R*Tree has 32-bit coordinates, the lower ones rounded down and the upper ones up.
            // A box therefore never misses a place, and `tidemark_distance` decides.
            .int(row), .real(place.latitude), .real(place.latitude), .real(place.longitude),
            .real(place.longitude),
        ])
        try statement.run()
    }
}

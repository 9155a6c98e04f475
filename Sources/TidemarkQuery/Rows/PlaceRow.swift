// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TidemarkModel

/// A place as a row of an R*Tree.
struct PlaceRow {
    private let place: Location

    init(_ place: Location) {
        self.place = place
    }

    /// Makes an index of places, without any.
    static func make(for column: Column, _ database: Database) throws {
        try database.execute(
            sql: """
                CREATE VIRTUAL TABLE \(column.placeTable) USING rtree(
                    id, latitudeFrom, latitudeTo, longitudeFrom, longitudeTo
                )
                """
        )
    }

    /// The statement that puts a row into an index of places.
    static func insertion(into column: Column) -> String {
        "INSERT INTO \(column.placeTable) VALUES (?, ?, ?, ?, ?)"
    }

    func insert(_ row: Int64, _ statement: PreparedStatement) throws {
        statement.bind([
            .int(row), .real(place.latitude), .real(place.latitude), .real(place.longitude),
            .real(place.longitude),
        ])
        try statement.run()
    }
}

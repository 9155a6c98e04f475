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

    func insert(_ row: Int64, into column: Column, _ database: Database) throws {
        let statement = try PreparedStatement(
            "INSERT INTO \(column.placeTable) VALUES (?, ?, ?, ?, ?)",
            database
        )
        statement.bind([
            .int(row), .real(place.latitude), .real(place.latitude), .real(place.longitude),
            .real(place.longitude),
        ])
        try statement.run()
    }
}

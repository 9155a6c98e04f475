// Tidemark
// SPDX-License-Identifier: Apache-2.0

// The lines are as the page has them.
// swift-format-ignore-file

import Foundation
import GRDB

/// The code for GRDB in `Docs/compared.md`, compiled.
private enum ComparedWithGRDB {
    static func all(_ database: DatabaseQueue, _ now: Date) throws {
        struct Chore: Codable, FetchableRecord, PersistableRecord {
            var id: UUID
            var title: String
            var due: Date?
        }
        try database.write { db in
            try db.create(table: "chore") { table in
                table.primaryKey("id", .blob)
                table.column("title", .text).notNull()
                table.column("due", .datetime)
            }
        }
        try database.write { db in
            try Chore(id: UUID(), title: "Water").insert(db)
        }
        let late = try database.read { db in
            try Chore.filter(Column("due") < now).order(Column("due")).fetchAll(db)
        }
        for chore in late {
            print(chore.title)
        }
    }
}

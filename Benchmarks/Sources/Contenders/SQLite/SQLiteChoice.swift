// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Which layout SQLite has for a work.
package protocol SQLiteChoice {
    /// What SQLite with this choice is called in tables.
    static var name: String { get }
    /// The layout for a work.
    static func layout(for work: Work) -> SQLiteLayout
}

/// Another layout for every work, the fastest of those tried: no server could have them all.
package enum FastestLayout: SQLiteChoice {
    package static let name = "sqlite"

    package static func layout(for work: Work) -> SQLiteLayout { .fastest(for: work) }
}

/// The rowid table with unique (zone, name) and an index (zone, sequence), for every work.
package enum RowidLayout: SQLiteChoice {
    package static let name = "sqliteRowid"

    package static func layout(for work: Work) -> SQLiteLayout { .rowid }
}

/// A layout that is set from outside, for comparing layouts.
package enum TriedLayout: SQLiteChoice {
    package static let name = "sqliteTried"
    /// The layout to try.
    @TaskLocal package static var tried = SQLiteLayout(.rowid)

    package static func layout(for work: Work) -> SQLiteLayout { tried }
}

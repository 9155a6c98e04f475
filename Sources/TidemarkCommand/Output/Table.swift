// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Rows under headings, in columns as wide as their contents.
struct Table {
    /// The alignment of a column's cells.
    enum Alignment {
        case left
        case right
    }

    private let columns: [(heading: String, alignment: Alignment)]
    private var rows: [[String]] = []

    init(_ columns: [(heading: String, alignment: Alignment)]) {
        self.columns = columns
    }

    /// Adds a row with one cell for each column.
    ///
    /// Cells may hold what users wrote, so their control characters do not reach the terminal.
    mutating func append(_ row: [String]) {
        precondition(row.count == columns.count, "a row has one cell for each column")
        rows.append(row.map(\.printable))
    }

    /// The table as lines, headings first, without spaces at their ends.
    var lines: [String] {
        let headings = columns.map(\.heading)
        let widths = columns.indices.map { column in
            // Counts characters. One that takes two columns of a terminal shifts the rest of its
            // row.
            ([headings] + rows).map { $0[column].count }.max() ?? 0
        }
        return ([headings] + rows).map { row in
            let cells = columns.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                return columns[column].alignment == .left
                    ? row[column] + space : space + row[column]
            }
            let line = cells.joined(separator: "  ")
            return String(
                line.prefix(
                    upTo: line.lastIndex { $0 != " " }.map(line.index(after:)) ?? line.startIndex
                )
            )
        }
    }
}

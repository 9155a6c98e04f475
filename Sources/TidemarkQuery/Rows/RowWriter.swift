// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GRDB
import TidemarkModel

/// Writes records into tables, inside one transaction.
struct RowWriter {
    private let database: Database
    /// The catalog including the written changes.
    private(set) var catalog: Catalog
    /// The numbers of rows of the types before the changes.
    private let rowCounts: [Int]
    private let cancellation: Cancellation
    private let insertBody: PreparedStatement
    private let deleteBody: PreparedStatement
    /// The statements for each type that was written to, by the type's index in the catalog.
    private var statements: [TypeStatements?] = []
    /// Fields of the current record that have rows outside of their column, by the indexes of field
    /// and column.
    private var beside: [(field: Int, column: Int)] = []
    private var words = WordRow()
    /// The current record's body as it is stored.
    private var storedBody: [UInt8] = []

    /// Starts with a catalog, which must match the database.
    init(_ database: Database, _ catalog: Catalog, _ cancellation: Cancellation) throws {
        self.database = database
        self.catalog = catalog
        rowCounts = catalog.types.map(\.rowCount)
        self.cancellation = cancellation
        insertBody = try PreparedStatement("INSERT INTO bodies VALUES (?, ?)", database)
        deleteBody = try PreparedStatement("DELETE FROM bodies WHERE record = ?", database)
        let state = try PreparedStatement("SELECT sequence FROM state", database)
        defer { state.reset() }
        // A second writer would have given out table and column numbers that this catalog does not
        // have.
        guard try state.step(),
            UInt64(bitPattern: state.int64(at: 0)) == catalog.position.sequence
        else { throw QueryIndexError(.damaged, "Another process has written the query index.") }
    }

    /// Applies changes in the order of their sequence numbers; throws `CancellationError` soon after
    /// a request to stop.
    mutating func apply(_ changes: ArraySlice<IndexedChange>) throws {
        var rest = changes
        while !rest.isEmpty {
            // A zone's deletion removes the rows that exist then, so the changes before it are
            // written first.
            let end = rest.firstIndex { $0.isZoneDeletion } ?? rest.endIndex
            try applyRecords(rest[..<end])
            rest = rest[end...]
            guard let deletion = rest.popFirst() else { return }
            try removeZone(deletion.zone, of: deletion.container)
        }
    }

    /// Applies changes of records.
    ///
    /// A version that a later change replaces is never written. The others are first removed in
    /// order and then added in order, so that adjacent rows are accessed together.
    private mutating func applyRecords(_ changes: ArraySlice<IndexedChange>) throws {
        guard let first = changes.first?.sequence else { return }
        var replaced: Set<UInt64> = []
        var removals: [(change: IndexedChange, type: Int?)] = []
        for change in changes where change.previous > 0 {
            // `changes` has every change of its zones from `first` on. This version is therefore
            // one of them, and is never written.
            if change.previous >= first {
                replaced.insert(change.previous)
            } else {
                removals.append((change, index(ofTypeIn: change)))
            }
        }
        removals.sort { $0.change.previous < $1.change.previous }
        for removal in removals {
            try cancellation.check()
            try remove(removal.change.previous, from: removal.type, of: removal.change.container)
        }
        for change in changes {
            try cancellation.check()
            // After all removals, so that a table's rows are deleted in one ascending pass and
            // appended in another.
            guard case .saved(let body) = change.content, !replaced.contains(change.sequence) else {
                continue
            }
            let index =
                try index(ofTypeIn: change)
                ?? catalog.addType(Name(body.recordType), of: change.container ?? 0, database)
            try insert(body, change, at: index)
        }
    }

    /// Returns the index of the table of a change's type; `nil` if there is none, or the change
    /// does not contain the type.
    private func index(ofTypeIn change: IndexedChange) -> Int? {
        switch change.content {
        case .saved(let body):
            catalog.index(
                ofType: body.recordTypeBytes.span.bytes,
                of: change.container
            )
        case .deleted(let type?):
            catalog.index(
                ofType: Array(type.utf8).span.bytes,
                of: change.container
            )
        case .deleted, .zoneDeleted: nil
        }
    }

    /// Stores the position if there is one, and drops indexes with too many rows of deleted
    /// records.
    mutating func finish(through position: IndexPosition?) throws {
        for name in catalog.made.filter({ $0.value > 0 }).keys.sorted() { try settle(name) }
        // Each container has types of its own, and an update concerns few of them.
        for (index, type) in catalog.types.enumerated()
        where index >= rowCounts.count || rowCounts[index] != type.rowCount {
            let statement = try PreparedStatement(
                "UPDATE types SET rows = ? WHERE id = ?",
                database
            )
            statement.bind([.int(Int64(type.rowCount)), .int(type.id)])
            try statement.run()
        }
        try catalog.measure(database)
        guard let position, position.sequence > catalog.position.sequence else { return }
        let statement = try PreparedStatement(
            "UPDATE state SET incarnation = ?, sequence = ?, received = ?",
            database
        )
        statement.bind([
            .int(Int64(bitPattern: position.incarnation)),
            .int(Int64(bitPattern: position.sequence)), .int(position.received),
        ])
        try statement.run()
        catalog.position = position
    }

    /// The number of rows of deleted records that an index may have in addition to the number of
    /// live records.
    private static let staleLimit = 10_000

    private mutating func settle(_ name: String) throws {
        guard let stale = catalog.made[name], stale > 0 else { return }
        let rowCount = catalog.types.lazy.map(\.rowCount).reduce(0, +)
        guard stale <= rowCount + Self.staleLimit else {
            var maker = IndexMaker(database, catalog)
            try maker.drop(name)
            catalog = maker.catalog
            return
        }
        let statement = try PreparedStatement(
            "UPDATE made SET stale = ? WHERE name = CAST(? AS TEXT)",
            database
        )
        statement.bind(.int(Int64(stale)), at: 1)
        statement.bind(text: name, at: 2)
        try statement.run()
    }
}

/// The statements that write records of one type, prepared once for a transaction.
///
/// A class, since each record accesses it several times.
private final class TypeStatements {
    let insert: PreparedStatement
    let delete: PreparedStatement
    let columns: [ColumnStatements]
    let deleteElements: [PreparedStatement]

    /// The statements for a column's rows in other tables.
    struct ColumnStatements {
        let kind: ColumnKind
        let fieldName: [UInt8]
        /// Each statement is `nil` if the column has no such table.
        let insertElement: PreparedStatement?
        let insertWords: PreparedStatement?
        let insertPlace: PreparedStatement?

        var isBeside: Bool {
            insertElement != nil || insertWords != nil || insertPlace != nil
        }
    }

    init(_ type: TypeTable, _ catalog: Catalog, _ database: Database) throws {
        func prepare(_ sql: String, if isThere: Bool) throws -> PreparedStatement? {
            isThere ? try PreparedStatement(sql, database) : nil
        }
        let names = [RowWriter.systemColumns] + type.columns.map(\.name)
        let count = RowWriter.systemColumnCount + type.columns.count
        let marks = Array(repeating: "?", count: count).joined(separator: ", ")
        insert = try PreparedStatement(
            "INSERT INTO \(type.name)(\(names.joined(separator: ", "))) VALUES (\(marks))",
            database
        )
        delete = try PreparedStatement(
            "DELETE FROM \(type.name) WHERE sequence = ?1",
            database
        )
        columns = try type.columns.map { column in
            ColumnStatements(
                kind: column.kind,
                fieldName: column.fieldNameBytes,
                insertElement: try prepare(
                    "INSERT INTO \(column.listTable) VALUES (?, ?, ?, ?)",
                    if: column.kind.hasTable
                ),
                insertWords: try prepare(
                    WordRow.insertion(into: column),
                    if: column.kind.holdsWords && catalog.made[column.wordTable] != nil
                ),
                insertPlace: try prepare(
                    PlaceRow.insertion(into: column),
                    if: catalog.made[column.placeTable] != nil
                )
            )
        }
        deleteElements = try type.columns.filter(\.kind.hasTable).map { column in
            try PreparedStatement(
                "DELETE FROM \(column.listTable) WHERE record = ?1",
                database
            )
        }
    }

    /// Returns the index of a field's column, at or after another index; `nil` if there is none.
    func column(after start: Int, for name: RawSpan, _ kind: ColumnKind) -> Int? {
        for place in start..<columns.count where columns[place].kind == kind {
            let isSame = name.withUnsafeBytes { name in
                columns[place].fieldName.withUnsafeBytes { $0.elementsEqual(name) }
            }
            if isSame { return place }
        }
        return nil
    }
}

// MARK: Inserting

extension RowWriter {
    /// The system columns, in the order of ``Catalog/addType(_:of:_:)``.
    fileprivate static let systemColumns =
        "sequence, zone, name, created, modified, creator, modifier, parent, share"
    fileprivate static let systemColumnCount = 9

    private mutating func insert(
        _ body: RecordBody,
        _ change: IndexedChange,
        at index: Int
    ) throws {
        let fields = body.fields
        if try bind(fields, at: index) == false {
            try addColumns(for: fields, at: index)
            guard try bind(fields, at: index) else { return }
        }
        let statement = try statements(at: index).insert
        statement.bind(.int(Int64(bitPattern: change.sequence)), at: 1)
        statement.bind(.int(Int64(bitPattern: change.zone)), at: 2)
        statement.bind(body.recordNameBytes.span.bytes, at: 3)
        statement.bind(.int(body.createdTime), at: 4)
        statement.bind(.int(body.modifiedTime), at: 5)
        statement.bind(text: body.createdUserBytes, at: 6)
        statement.bind(text: body.modifiedUserBytes, at: 7)
        statement.bind(text: body.parentNameBytes, at: 8)
        statement.bind(text: body.shareNameBytes, at: 9)
        try statement.run()
        insertBody.bind(.int(Int64(bitPattern: change.sequence)), at: 1)
        StoredBody.encode(body, at: change.sequence, into: &storedBody)
        insertBody.bind(storedBody.span.bytes, at: 2)
        try insertBody.run()
        catalog.types[index].rowCount += 1
        for (field, column) in beside {
            try insertBeside(fields[field], column, change, at: index)
        }
    }

    /// Binds the fields' values, and collects those with rows in other tables; returns true if
    /// every field has a column, as far as the table has room for them.
    ///
    /// Fields and columns are both sorted by name, so that one walk finds them all. Values are read
    /// from the record's bytes.
    private mutating func bind(_ fields: Fields, at index: Int) throws -> Bool {
        let statements = try statements(at: index)
        let statement = statements.insert
        beside.removeAll(keepingCapacity: true)
        let bytes = fields.bytes.span.bytes
        var next = 0
        for row in 0..<fields.count {
            let place = fields.place(at: row)
            guard !place.isEncrypted, let type = place.type else { continue }
            let name = bytes.extracting(place.name)
            guard let found = statements.column(after: next, for: name, ColumnKind(type)) else {
                // Queries of a full type check each record's body (`QueryStatement.condition`), so
                // no result is lost.
                if catalog.types[index].isFull { continue }
                statement.reset()
                return false
            }
            next = found
            let parameter = Self.systemColumnCount + 1 + found
            let value = bytes.extracting(place.value)
            if type == .string {
                statement.bind(value, at: parameter)
            } else if let value = FieldValue(decoding: value, as: type) {
                statement.bind(value, at: parameter)
            }
            if statements.columns[found].isBeside { beside.append((row, found)) }
        }
        return true
    }

    /// Adds the missing columns of fields, as far as there is room.
    private mutating func addColumns(for fields: Fields, at index: Int) throws {
        for field in fields where !catalog.types[index].isFull {
            guard let kind = field.columnKind else { continue }
            let name = Name(field.name)
            guard catalog.types[index].column(of: name, kind) == nil else { continue }
            try catalog.addColumn(name, kind, toTypeAt: index, database)
        }
        // The prepared statements lack the new columns.
        statements[index] = nil
    }

    private mutating func statements(at index: Int) throws -> TypeStatements {
        while statements.count <= index { statements.append(nil) }
        if let found = statements[index] { return found }
        let made = try TypeStatements(catalog.types[index], catalog, database)
        statements[index] = made
        return made
    }

    /// Writes a value's rows in other tables: a list's elements, words, a location.
    private mutating func insertBeside(
        _ field: Fields.Element,
        _ column: Int,
        _ change: IndexedChange,
        at index: Int
    ) throws {
        let statements = try statements(at: index).columns[column]
        let row = Int64(bitPattern: change.sequence)
        if let statement = statements.insertWords {
            words.begin(zone: change.zone)
            switch field.type {
            case .string: words.add(field.valueBytes.span.bytes)
            default: if case .stringList(let texts) = field.value { words.add(texts) }
            }
            try words.insert(row, statement)
        }
        if let statement = statements.insertElement, let value = field.value {
            for (position, element) in value.elements.enumerated() {
                statement.bind(.int(row), at: 1)
                statement.bind(.int(Int64(position)), at: 2)
                statement.bind(.int(Int64(bitPattern: change.zone)), at: 3)
                statement.bind(element, at: 4)
                try statement.run()
            }
        }
        if let statement = statements.insertPlace, case .location(let place)? = field.value {
            try PlaceRow(place).insert(row, statement)
        }
    }
}

// MARK: Removing

extension RowWriter {
    /// Removes a version, which is usually in the first table that is searched.
    private mutating func remove(
        _ sequence: UInt64,
        from index: Int?,
        of container: UInt64?
    ) throws {
        // The replaced version may be of another type, and a deletion may not name its type.
        if let index, try remove(sequence, fromTypeAt: index) { return }
        for other in catalog.indexes(of: container) where other != index {
            if try remove(sequence, fromTypeAt: other) { return }
        }
    }

    private mutating func remove(_ sequence: UInt64, fromTypeAt index: Int) throws -> Bool {
        let statements = try statements(at: index)
        let row = SQLValue.int(Int64(bitPattern: sequence))
        statements.delete.bind(row, at: 1)
        try statements.delete.run()
        guard database.changesCount > 0 else { return false }
        deleteBody.bind(row, at: 1)
        try deleteBody.run()
        for statement in statements.deleteElements {
            statement.bind(row, at: 1)
            try statement.run()
        }
        noteRemoved(1, fromTypeAt: index)
        return true
    }

    /// Counts deleted records and their remaining rows in full-text and location indexes.
    private mutating func noteRemoved(_ count: Int, fromTypeAt index: Int) {
        catalog.types[index].rowCount -= count
        for column in catalog.types[index].columns where column.hasStaleRows {
            for table in [column.wordTable, column.placeTable] {
                // The rows of these tables stay, and match no record, since no row number is used
                // twice. `settle` drops the table when they are too many.
                catalog.made[table]? += count
            }
        }
    }

    /// Removes all records of a zone.
    ///
    /// The first deletion of a zone creates the index for finding the zone's records.
    private mutating func removeZone(_ zone: UInt64, of container: UInt64?) throws {
        let key = SQLValue.int(Int64(bitPattern: zone))
        for index in catalog.indexes(of: container) {
            let type = catalog.types[index]
            var maker = IndexMaker(database, catalog)
            try maker.make(.column(table: type.name, name: "name"))
            catalog = maker.catalog
            let rows = "SELECT sequence FROM \(type.name) WHERE zone = ?1"
            // The type's own rows are deleted last, because the other deletions find their rows
            // through them.
            let deletions =
                ["DELETE FROM bodies WHERE record IN (\(rows))"]
                + type.columns.filter(\.kind.hasTable)
                .map { "DELETE FROM \($0.listTable) WHERE record IN (\(rows))" }
                + ["DELETE FROM \(type.name) WHERE zone = ?1"]
            for deletion in deletions {
                let statement = try PreparedStatement(deletion, database)
                statement.bind([key])
                try statement.run()
            }
            noteRemoved(database.changesCount, fromTypeAt: index)
        }
    }
}

extension IndexedChange {
    fileprivate var isZoneDeletion: Bool {
        if case .zoneDeleted = content { true } else { false }
    }
}

extension Column {
    /// True if indexes of the values keep rows of deleted records.
    fileprivate var hasStaleRows: Bool { kind.holdsWords || kind == .location }
}

extension PreparedStatement {
    /// Binds a text of a record's body, if there is one.
    fileprivate func bind(text: ArraySlice<UInt8>, at index: Int) {
        if !text.isEmpty { bind(text.span.bytes, at: index) }
    }

    /// Binds a field's value in the form of its column or list table.
    func bind(_ value: FieldValue, at index: Int) {
        switch value {
        case .string(let text): bind(text: text, at: index)
        case .int64(let number), .timestamp(let number): bind(.int(number), at: index)
        case .double(let number): bind(.real(number), at: index)
        case .reference(let link): bind(text: link.recordName, at: index)
        case .location(let place): bind(.blob(place.stored), at: index)
        case .bytes, .asset, .bytesList, .assetList: bind(.int(1), at: index)
        default: bind(.int(Int64(value.elements.count)), at: index)
        }
    }
}

extension Fields.Element {
    /// The kind of column for the value; `nil` if the value is removed or encrypted.
    fileprivate var columnKind: ColumnKind? { isEncrypted ? nil : type.map(ColumnKind.init) }
}

extension ColumnKind {
    /// True if the values are in full-text indexes.
    var holdsWords: Bool { self == .text || self == .textList }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
public import TidemarkModel

/// The smallest part of a history that reproduces some records: lines of a change stream that an
/// empty store can import, and the contents of the store after it.
public struct Case: Codable, Sendable {
    /// The changes, oldest first (`Docs/formats/changes.md`).
    public internal(set) var lines: [ChangeStreamLine]
    /// The records that there are in the end, by zone and name.
    public internal(set) var records: [CaseRecord]
    /// The records of the case: those that were requested, and those that they need.
    public let recordIDs: [RecordID]
    /// Records whose history was pruned, so that it begins after their creation.
    public let prunedRecordIDs: [RecordID]
}

/// A record at the end of a case: its content, without the users and times of saves.
public struct CaseRecord: Hashable, Codable, Sendable {
    /// The id of the record.
    public var id: RecordID
    /// Its type.
    public var recordType: String
    /// The name of its parent; `nil` if it has none.
    public var parent: String?
    /// Its fields.
    public var fields: Fields

    /// Creates the content of a record.
    public init(_ record: Record) throws(SyncError) {
        id = record.recordID
        recordType = record.recordType
        parent = record.body.parentName
        fields = try record.fields.asSet
    }

    func masked(by mask: inout CaseMask) throws(SyncError) -> CaseRecord {
        var masked = self
        masked.id = mask.record(id)
        masked.parent = parent.map {
            mask.record(RecordID(recordName: $0, zone: id.zone)).recordName
        }
        masked.fields = try mask.fields(fields, in: id.zone.zoneName)
        return masked
    }
}

extension Store {
    /// Extracts from the log everything about some records of a database.
    ///
    /// The case has all versions of these records, in all epochs of their zones. It also has all
    /// versions of the records that they need: parents and references of any version, the shares
    /// that the records are under, the roots of those shares, and so on. It has the participants of
    /// these shares, the schema of the types, and the beginnings and ends of the zones. A commit
    /// contains only the events that are part of the case.
    ///
    /// Costs one read of these versions. Throws `unknownItem` or `zoneNotFound` for a record that
    /// never existed.
    public func makeCase(
        of records: [RecordID],
        in database: DatabaseID = .standard
    ) async throws(SyncError) -> Case {
        // While it is held, the log keeps the events until they have been read.
        let picture = try pastPicture()
        defer { withExtendedLifetime(picture) {} }
        var slice = CaseSlice(database)
        for record in records { try await slice.add(record, from: self) }
        try await slice.addWhatIsNeeded(from: self)
        var lines: [ChangeStreamLine] = []
        try visitCommits(ofEventsAt: slice.sequences.sorted()) { lines.append($0) }
        var living: [CaseRecord] = []
        for id in slice.recordIDs.sorted() {
            do throws(SyncError) {
                living.append(try CaseRecord(try record(id, of: database)))
            } catch {
                // It was there once.
                guard error.code == .unknownItem || error.code == .zoneNotFound else { throw error }
            }
        }
        return Case(
            lines: lines,
            records: living,
            recordIDs: slice.recordIDs.sorted(),
            prunedRecordIDs: slice.pruned.sorted()
        )
    }
}

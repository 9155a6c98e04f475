// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
import TidemarkEvents
public import TidemarkLog
public import TidemarkModel

/// The event that set each field of a record, for one version of the record.
public struct Blame: Codable, Sendable {
    /// One field, and the origin of its value.
    public struct Field: Codable, Sendable {
        /// The field in the record.
        package let element: Fields.Element
        /// The position of the event that last set or removed the field.
        public let stamp: SequenceNumber
        /// The origin of that event; `nil` if pruning has dropped it from the log.
        public let origin: ChangeOrigin?

        /// The field's name.
        public var name: String { element.name }

        /// The field's value; `nil` if it was removed.
        public var value: FieldValue? { element.value }
    }

    /// The record.
    public let record: Record
    /// The position of its last event.
    public let sequence: SequenceNumber
    /// Its fields in the order of their names' bytes; also those that were removed, as far as the record
    /// remembers them.
    public let fields: [Field]

    /// Puts the stamps of a version together with where their events come from.
    init(_ record: Record, at sequence: SequenceNumber, _ origins: [SequenceNumber: ChangeOrigin]) {
        self.record = record
        self.sequence = sequence
        fields = record.fields.map { element in
            let stamp = element.stamp(in: sequence)
            return Field(element: element, stamp: stamp, origin: origins[stamp])
        }
    }
}

extension Fields.Element {
    /// The event that last set or removed the field, in a version that an event holds.
    fileprivate func stamp(in sequence: SequenceNumber) -> SequenceNumber {
        // Stamp 0 stands for the event that holds the body: its number is not known during
        // encoding.
        stamp == 0 ? sequence : SequenceNumber(rawValue: stamp)
    }
}

extension Store {
    /// Returns the event that set each field of a record, as it is or as it was after an event.
    ///
    /// A record stores for each field the event that set it, so this reads only those events. A
    /// save of a whole record is not blamed for fields that it left unchanged.
    ///
    /// Throws `unknownItem` or `zoneNotFound` if the record did not exist.
    public func blame(
        of id: RecordID,
        in database: DatabaseID = .standard,
        asOf position: SequenceNumber? = nil
    ) async throws(SyncError) -> Blame {
        let record = try record(id, of: database, asOf: position)
        guard let sequence = record.changeTag.flatMap({ TagContent($0) })?.sequence else {
            throw .recordNotFound(id)
        }
        // Each event is read once, however many fields it set.
        let stamps = Set(record.fields.map { $0.stamp(in: sequence) }).sorted()
        var origins: [SequenceNumber: ChangeOrigin] = [:]
        try pastPicture().log.read(stamps) { event throws(EventFormatError) in
            origins[event.sequence] = try ChangeOrigin(event)
            return true
        }
        return Blame(record, at: sequence, origins)
    }
}

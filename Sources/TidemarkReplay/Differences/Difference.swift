// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// One difference between the contents of a database at two points.
public enum Difference: Codable, Sendable {
    /// A zone began or ended.
    case zone(ZoneDifference)
    /// A record was added, changed or removed.
    case record(RecordDifference)
}

/// The difference of a zone between two points.
public struct ZoneDifference: Hashable, Codable, Sendable {
    /// The kind of a zone's difference.
    public enum Kind: Hashable, Codable, Sendable {
        /// The zone did not exist at the first point.
        case created
        /// The zone did not exist at the second point.
        case deleted(ZoneDeletionReason)
        /// The zone existed at both points, but was deleted and created again between them.
        case recreated(ZoneDeletionReason)
    }

    /// The zone.
    public let zone: ZoneID
    /// The kind of the difference.
    public let kind: Kind
}

/// The difference of a record between two points.
public struct RecordDifference: Codable, Sendable {
    /// The kind of a record's difference.
    public enum Kind: String, Hashable, Sendable {
        /// The record did not exist at the first point.
        case added
        /// The record existed at both points, and differs.
        case changed
        /// The record did not exist at the second point.
        case removed
    }

    /// The record.
    public let id: RecordID
    /// As it was at the first point; `nil` if it was not there.
    public let before: Record?
    /// As it was at the second point; `nil` if it was not there.
    public let after: Record?
    /// The fields that differ, in the order of their names' bytes.
    public let fields: [FieldChange]

    /// The kind of the difference.
    public var kind: Kind { before == nil ? .added : after == nil ? .removed : .changed }

    /// Compares a record at two points; `nil` if it has the same content at both.
    ///
    /// Compares the type, the fields and the parent. Change tags, and the users and times of saves,
    /// are ignored.
    public init?(from before: Record?, to after: Record?) {
        guard let either = after ?? before else { return nil }
        id = either.recordID
        self.before = before
        self.after = after
        fields = [FieldChange](from: before?.fields, to: after?.fields)
        guard let before, let after else { return }
        let isSame = fields.isEmpty && recordTypeBefore == nil && before.parent == after.parent
        if isSame { return nil }
    }

    private enum CodingKeys: String, CodingKey { case before, after }

    /// Reads `before` and `after`, and compares them.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        // The list of fields is computed from both records, so it cannot contradict them.
        let read = Self(
            from: try container.decodeIfPresent(Record.self, forKey: .before),
            to: try container.decodeIfPresent(Record.self, forKey: .after)
        )
        guard let read else {
            throw DecodingError.dataCorruptedError(
                forKey: .after,
                in: container,
                debugDescription: "The record does not differ."
            )
        }
        self = read
    }

    /// Writes `before` and `after`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(before, forKey: .before)
        try container.encodeIfPresent(after, forKey: .after)
    }

    /// The record's type at the first point, if it had another one at the second.
    public var recordTypeBefore: String? {
        guard let before, let after, before.body.recordTypeBytes != after.body.recordTypeBytes
        else { return nil }
        return before.recordType
    }

    /// The record's parent at both points, if it differs; a record that is not there has none.
    public var parent: PastChange.ParentMove? {
        before?.parent == after?.parent
            ? nil
            : PastChange.ParentMove(before: before?.parent?.string, after: after?.parent?.string)
    }
}

extension Record {
    /// The parent's name.
    fileprivate var parent: Name? { body.parentName.map { Name($0) } }
}

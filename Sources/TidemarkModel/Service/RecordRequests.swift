// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The effect of a save on an existing record.
///
/// The first three raw values are CloudKit's; all of them are on disk.
public enum SavePolicy: UInt8, Hashable, CaseIterable, Codable, Sendable {
    /// Succeeds only if the record is still the version of the save's change tag.
    ///
    /// Without a tag, it succeeds only if there is no record. Fields that are not named stay.
    case ifServerRecordUnchanged = 0
    /// Never compares versions; fields that are not named stay.
    case changedKeys = 1
    /// As ``changedKeys``; the client sends every field it has.
    case allKeys = 2
    /// Never compares versions; the record is replaced as a whole, and fields that are not named
    /// are removed: `forceReplace` in CloudKit Web Services.
    case replace = 3
    /// Beyond CloudKit: succeeds if none of the named fields changed on the server since the base
    /// version.
    ///
    /// The base version is that of the save's change tag. Fields that are not named stay. If the
    /// save names a parent or a share's content, that must be unchanged too. Without a tag, the
    /// save succeeds only if there is no record.
    case merge = 4
    /// Compares versions as ``ifServerRecordUnchanged`` and replaces the record as a whole as
    /// ``replace``: `replace` in CloudKit Web Services.
    case replaceIfUnchanged = 5
}

/// The effect of a save on the record's parent.
///
/// The parent is the record above this one in a tree that is shared as a whole.
public enum ParentChange: Hashable, Codable, Sendable {
    /// The parent stays unchanged, even if the rest of the record is replaced.
    case unchanged
    /// The record of the same zone with this name is the parent.
    case set(Name)
    /// The record has no parent.
    case removed

    /// Sets the record of the same zone with this name as the parent.
    public static func set(_ recordName: String) -> ParentChange { .set(Name(recordName)) }

    /// True if the save sets a parent.
    package var isSet: Bool { if case .set = self { true } else { false } }
}

/// One record to save.
public struct RecordSave: Hashable, Codable, Sendable {
    /// The record.
    public var recordID: RecordID
    /// The record type; a record keeps the type of its first save.
    public var recordType: String {
        get { typeName.string }
        set { typeName = Name(newValue) }
    }

    /// The record's type, for code that reads thousands of saves in place.
    package private(set) var typeName: Name

    /// True if the record is the record of a share.
    package var isShare: Bool { typeName.isShareType }
    /// The version that the client has; `nil` if it has none.
    public var changeTag: RecordChangeTag?
    /// The fields to set, and those to remove.
    public var fields: Fields
    /// The change of the record's parent.
    public var parent: ParentChange
    /// The policy if the record exists.
    public var policy: SavePolicy
    /// The content of a share, for a share's record; `nil` leaves it unchanged.
    public var share: ShareContent? {
        get { if case .content(let content) = boxedShare { content } else { nil } }
        set { boxedShare = newValue.map { .content($0) } ?? .none }
    }

    /// The content of the share, in its stored form.
    package private(set) var boxedShare: BoxedShare

    private enum CodingKeys: String, CodingKey {
        case recordID, changeTag, fields, parent, policy
        case typeName = "recordType"
        case boxedShare = "share"
    }

    /// Stored separately, so that every other save is only one word larger.
    package enum BoxedShare: Hashable, Sendable {
        case none
        indirect case content(ShareContent)

        /// True if the save has the content of a share.
        package var hasContent: Bool { if case .content = self { true } else { false } }
    }

    /// Creates a save.
    public init(
        _ recordID: RecordID,
        type recordType: String,
        fields: Fields,
        parent: ParentChange = .unchanged,
        changeTag: RecordChangeTag? = nil,
        policy: SavePolicy = .ifServerRecordUnchanged,
        share: ShareContent? = nil
    ) {
        boxedShare = share.map { .content($0) } ?? .none
        self.recordID = recordID
        typeName = Name(recordType)
        self.changeTag = changeTag
        self.fields = fields
        self.parent = parent
        self.policy = policy
    }
}

/// One record to delete.
public struct RecordDeletion: Hashable, Codable, Sendable {
    /// The record.
    public var recordID: RecordID
    /// Deletes only this version; `nil` deletes any version.
    public var changeTag: RecordChangeTag?

    /// Creates a deletion.
    public init(_ recordID: RecordID, changeTag: RecordChangeTag? = nil) {
        self.recordID = recordID
        self.changeTag = changeTag
    }
}

/// Records to save and to delete.
public struct ModifyRecordsRequest: Hashable, Codable, Sendable {
    /// Records to save.
    public var saves: [RecordSave]
    /// Records to delete.
    public var deletions: [RecordDeletion]
    /// True if, in each zone with atomic commits, either all items are applied or none.
    public var isAtomic: Bool

    /// Creates a request.
    public init(
        saves: [RecordSave] = [],
        deletions: [RecordDeletion] = [],
        isAtomic: Bool = true
    ) {
        self.saves = saves
        self.deletions = deletions
        self.isAtomic = isAtomic
    }
}

/// The results of each item of a request, in its order.
public struct ModifyRecordsResult: Hashable, Sendable {
    /// For each save, the saved record, or its error.
    public var saves: [Result<Record, SyncError>]
    /// For each deletion the record's identity, or why it was not deleted.
    public var deletions: [Result<RecordID, SyncError>]

    /// Collects outcomes.
    public init(
        saves: [Result<Record, SyncError>],
        deletions: [Result<RecordID, SyncError>]
    ) {
        self.saves = saves
        self.deletions = deletions
    }
}

extension ModifyRecordsResult {
    /// Returns the error that CloudKit's operations throw if items failed; `nil` if all were done.
    ///
    /// It is `partialFailure` with the error of each item, first of saves, then of deletions.
    /// `request` is the request of this result.
    public func partialFailure(of request: ModifyRecordsRequest) -> SyncError? {
        var errors: [SyncError.ItemError] = []
        errors.add(request.saves.map { .record($0.recordID) }, saves)
        errors.add(request.deletions.map { .record($0.recordID) }, deletions)
        return .partialFailure(errors)
    }
}

/// Records to fetch by their identity.
public struct FetchRecordsRequest: Hashable, Codable, Sendable {
    /// The records.
    public var recordIDs: [RecordID]
    /// The names of the fields to answer; `nil` for all of them.
    ///
    /// A name that a record has no field of changes nothing.
    public var desiredKeys: [String]?
    /// Bytes of records after which the others are ``SyncError/Code/resultsTruncated``; `nil` for no
    /// limit.
    ///
    /// Not coded: a server sets it, and ``DatabaseService`` in another process asks for the rest.
    package var byteLimit: Int?

    /// Creates a request.
    public init(_ recordIDs: [RecordID], desiredKeys: [String]? = nil) {
        self.recordIDs = recordIDs
        self.desiredKeys = desiredKeys
    }

    private enum CodingKeys: String, CodingKey {
        case recordIDs, desiredKeys
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock
import TidemarkModel

/// A record: its names, its fields, and its system fields.
///
/// Two records are equal if they are the same object.
///
/// Unchecked: the mutable state is behind a lock.
open class CKRecord: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// A field's name.
    public typealias FieldKey = String
    /// A record type's name.
    public typealias RecordType = String
    /// Names a record.
    public typealias ID = CKRecordID
    /// A link to a record.
    public typealias Reference = CKReference
    /// The effect on a record of deleting the record that it refers to.
    public typealias ReferenceAction = CKReferenceAction

    /// The record's type.
    public let recordType: RecordType
    /// The record's names.
    public let recordID: CKRecord.ID

    private let content: Lock<RecordContent>

    // Programs can subclass records only if this is the only designated initializer.
    /// Creates a new record without fields; without an identity, one with a new name in the default
    /// zone.
    public init(recordType: RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        self.recordType = recordType
        self.recordID = recordID
        content = Lock(RecordContent())
    }

    convenience init(_ recordType: RecordType, _ recordID: CKRecord.ID, _ content: RecordContent) {
        self.init(recordType: recordType, recordID: recordID)
        change { $0 = content }
    }

    /// Creates a new record with a new name in a zone.
    @available(*, deprecated, message: "Use init(recordType:recordID:) with an ID in the zone.")
    public convenience init(recordType: RecordType, zoneID: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    /// Reads the content.
    func read<Value: Sendable>(_ body: @Sendable (RecordContent) -> Value) -> Value {
        content.withLock { body($0) }
    }

    /// Changes the content.
    func change<Value: Sendable>(_ body: @Sendable (inout RecordContent) -> Value) -> Value {
        content.withLock { body(&$0) }
    }

    // MARK: System fields

    /// The version; `nil` for a record that was never saved or fetched.
    open var recordChangeTag: String? { read(\.changeTag) }

    /// The time of the record's first save.
    open var creationDate: Date? { read(\.creationDate) }

    /// The user that saved the record first.
    open var creatorUserRecordID: CKRecord.ID? { read(\.creator) }

    /// The time of this version's save.
    open var modificationDate: Date? { read(\.modificationDate) }

    /// The user that saved this version.
    open var lastModifiedUserRecordID: CKRecord.ID? { read(\.lastModifier) }

    /// The share that this record is the root of.
    open var share: CKRecord.Reference? { read(\.share) }

    // MARK: Parents

    /// The record above this one in a tree that is shared as a whole.
    ///
    /// A parent is a reference with the action `none`; any other stops the program.
    open var parent: CKRecord.Reference? {
        get { read(\.parent) }
        set {
            precondition(
                newValue.map { $0.action == .none } ?? true,
                "The parent of a record is a reference with the action none; found deleteSelf"
            )
            change { $0.setParent(newValue) }
        }
    }

    /// Sets the parent of this record; `nil` removes it.
    open func setParent(_ parentRecord: CKRecord?) {
        setParent(parentRecord?.recordID)
    }

    /// Sets the parent of this record by its identity; `nil` removes it.
    open func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }

    // MARK: Copying

    /// Returns a record with the same names, fields, changes and version.
    open func copy(with zone: NSZone? = nil) -> Any {
        CKRecord(recordType, recordID, read { $0 })
    }

    /// The type, the names, the version and the fields.
    open override var description: String {
        let tag = recordChangeTag.map { ", recordChangeTag=\($0)" } ?? ""
        let fields = allKeys().sorted().map { key in
            "    \(key) = \(object(forKey: key).map { "\($0)" } ?? "nil")"
        }
        let head = "<\(type(of: self)): recordType=\(recordType), recordID=\(recordID)\(tag)>"
        return ([head + (fields.isEmpty ? "" : " {")] + fields + (fields.isEmpty ? [] : ["}"]))
            .joined(separator: "\n")
    }

    // MARK: Coding

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the record with its fields and changes.
    open func encode(with coder: NSCoder) {
        coder.encode(RecordArchive(self, withFields: true))
    }

    /// Writes the record without its fields.
    ///
    /// From its names and version a program creates the record again, sets its fields and saves it.
    open func encodeSystemFields(with coder: NSCoder) {
        coder.encode(RecordArchive(self, withFields: false))
    }

    /// Reads the output of `encode(with:)` or `encodeSystemFields(with:)`, including that of the
    /// latter in Apple's framework.
    public required init?(coder: NSCoder) {
        guard let archive = coder.recordArchive else { return nil }
        recordType = archive.recordType
        recordID = CKRecordID(archive.recordID)
        content = Lock(archive.content)
    }

    // MARK: Shares

    /// The content of a share except its fields; `nil` for every other record.
    var archivedTerms: CKShare.Terms? { nil }

    /// Returns the content of a share to save; `nil` for every other record.
    func shareContent(seenBy reader: UserID?) -> ShareContent? { nil }

    /// Takes the content of a share from the service.
    func take(_ share: Share, seenBy reader: UserID?) {}
}

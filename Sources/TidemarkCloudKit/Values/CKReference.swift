// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// The effect on a record of deleting the record that it refers to.
///
/// Programs write `CKRecord.ReferenceAction` or `CKRecord.Reference.Action`.
public enum CKReferenceAction: UInt, Sendable {
    /// No effect: the target of the reference may be missing.
    case none = 0
    /// The record is deleted too.
    case deleteSelf = 1
}

/// A link from one record to another in the same zone.
///
/// Programs write `CKRecord.Reference`.
///
/// Unchecked: immutable.
open class CKReference: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The record that it leads to.
    public let recordID: CKRecordID
    /// The effect of deleting the target on the record that holds the link.
    ///
    /// A link of the kind that CloudKit Web Services call *validate* is `none` here, and keeps its
    /// kind when it is saved again.
    public var action: CKReferenceAction { modelAction == .deleteSelf ? .deleteSelf : .none }

    private let modelAction: TidemarkModel.Reference.Action

    /// Links to a record by its identity.
    public init(recordID: CKRecordID, action: CKReferenceAction) {
        self.recordID = recordID
        modelAction = action == .deleteSelf ? .deleteSelf : .none
    }

    /// The same as `CKRecord.ReferenceAction`.
    public typealias Action = CKReferenceAction

    // MARK: Equality

    /// Returns true if the other object names the same record with the same action.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return other.recordID == recordID && other.modelAction == modelAction
    }

    /// Follows from the target.
    open override var hash: Int { recordID.hash }

    /// The target's names.
    open override var description: String { "<CKReference: \(recordID)>" }

    // MARK: Copying and coding

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// The target and the action's number, as they are archived.
    struct Archive: Codable {
        var record: CKRecordID.Archive
        var action: UInt8
    }

    var archived: Archive { Archive(record: recordID.archived, action: modelAction.rawValue) }

    init(_ archive: Archive) {
        recordID = CKRecordID(archive.record)
        modelAction = TidemarkModel.Reference.Action(rawValue: archive.action) ?? .none
    }

    /// Writes the target and the action.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: archived)
    }

    /// Reads the target and the action, also from an archive of Apple's framework.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self) ?? Archive(KeyedObject(coder)) else {
            return nil
        }
        recordID = CKRecordID(archive.record)
        modelAction = TidemarkModel.Reference.Action(rawValue: archive.action) ?? .none
    }

    // MARK: The service

    /// Creates a link of a record in a zone, which is the target's zone if the link names none.
    init(_ model: TidemarkModel.Reference, in zone: ZoneID) {
        recordID = CKRecordID(RecordID(recordName: model.recordName, zone: model.zone ?? zone))
        modelAction = model.action
    }

    /// Returns the link in the form of a record in a zone.
    func model(in zone: ZoneID) -> TidemarkModel.Reference {
        let target = recordID.model
        return TidemarkModel.Reference(
            recordName: target.recordName,
            zone: target.zone == zone ? nil : target.zone,
            action: modelAction
        )
    }
}

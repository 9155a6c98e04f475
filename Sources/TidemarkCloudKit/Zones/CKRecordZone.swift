// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock
import TidemarkModel

/// A zone of a database.
///
/// Unchecked: the mutable state is behind a lock.
open class CKRecordZone: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// Names a zone.
    public typealias ID = CKRecordZoneID

    /// The operations that a zone supports.
    public struct Capabilities: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt

        /// Wraps bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// Changes can be fetched by token.
        public static let fetchChanges = Capabilities(rawValue: 1)
        /// Saves and deletions can be done atomically.
        public static let atomic = Capabilities(rawValue: 2)
        /// Records can be shared with their descendants.
        public static let sharing = Capabilities(rawValue: 4)
        /// The zone can be shared as a whole.
        public static let zoneWideSharing = Capabilities(rawValue: 8)
    }

    /// The scope for which the encrypted fields of a zone are encrypted.
    public enum EncryptionScope: Int, Sendable {
        /// Each record for itself.
        case perRecord = 0
        /// The zone as a whole.
        case perZone = 1
    }

    /// The zone's names.
    public let zoneID: CKRecordZone.ID
    /// The operations that the zone supports; empty before it was fetched or saved.
    public let capabilities: Capabilities
    /// The share of the whole zone; `nil` if there is none.
    public let share: CKRecord.Reference?

    private let scope: Lock<EncryptionScope>

    init(
        _ zoneID: CKRecordZone.ID,
        _ capabilities: Capabilities,
        share: CKRecord.Reference? = nil,
        _ scope: EncryptionScope = .perRecord
    ) {
        self.zoneID = zoneID
        self.capabilities = capabilities
        self.share = share
        self.scope = Lock(scope)
    }

    /// Creates a zone of the current user.
    public convenience init(zoneName: String) {
        self.init(zoneID: CKRecordZone.ID(zoneName: zoneName))
    }

    /// Creates a zone.
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID, [])
    }

    /// Returns the zone that every public and private database has.
    public class func `default`() -> CKRecordZone {
        CKRecordZone(zoneID: .default)
    }

    /// The scope for which the zone's encrypted fields are encrypted.
    ///
    /// It is stored in this object only: Tidemark's service encrypts nothing.
    open var encryptionScope: EncryptionScope {
        get { scope.withLock { $0 } }
        set { scope.withLock { $0 = newValue } }
    }

    // MARK: Equality

    /// Returns true if the other object is a zone with the same name and owner.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordZone)?.zoneID == zoneID
    }

    /// Follows from the names.
    open override var hash: Int { zoneID.hash }

    /// The names.
    open override var description: String { "<CKRecordZone: \(zoneID)>" }

    // MARK: Copying and coding

    /// Returns a zone of the same names and capabilities.
    open func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZone(zoneID, capabilities, share: share, encryptionScope)
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    private struct Archive: Codable {
        var zoneID: CKRecordZoneID.Archive
        var capabilities: UInt
        var share: CKReference.Archive?
        var scope: Int
    }

    /// Writes the zone.
    open func encode(with coder: NSCoder) {
        coder.encode(
            archive: Archive(
                zoneID: zoneID.archived,
                capabilities: capabilities.rawValue,
                share: share?.archived,
                scope: encryptionScope.rawValue
            )
        )
    }

    /// Reads a zone.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self) else { return nil }
        zoneID = CKRecordZoneID(archive.zoneID)
        capabilities = Capabilities(rawValue: archive.capabilities)
        share = archive.share.map { CKReference($0) }
        scope = Lock(EncryptionScope(rawValue: archive.scope) ?? .perRecord)
    }
}

// MARK: The service

extension CKRecordZone {
    /// Creates a zone of the service.
    ///
    /// `share` is the record of the share of the whole zone, if there is one.
    convenience init(_ model: Zone, share: RecordID? = nil) {
        self.init(
            CKRecordZoneID(model.zoneID),
            Capabilities(rawValue: model.capabilities.rawValue),
            share: share.map { CKReference(recordID: CKRecordID($0), action: .none) }
        )
    }
}

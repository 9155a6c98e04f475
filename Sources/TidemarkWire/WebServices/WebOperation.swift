// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// One operation of `records/modify`, as it was sent.
///
/// A class, like its record: several steps take each operation of a batch, and each copy of a struct
/// would count a dozen references.
final class WebOperation {
    enum Kind: String {
        case create, update, forceUpdate, replace, forceReplace, delete, forceDelete

        var isDeletion: Bool { self == .delete || self == .forceDelete }
        var isForced: Bool { self == .forceUpdate || self == .forceReplace || self == .forceDelete }
        /// True if the record is replaced as a whole.
        var replaces: Bool { self == .replace || self == .forceReplace }
    }

    let kind: Kind
    let record: WebRecord
    let desiredKeys: [String]?

    init(_ kind: Kind, _ record: WebRecord, _ desiredKeys: [String]?) {
        self.kind = kind
        self.record = record
        self.desiredKeys = desiredKeys
    }
}

/// A record of a request.
final class WebRecord {
    var recordName: String?
    var recordType: String?
    var changeTag: String?
    var zone: ZoneID?
    private(set) var fields = Fields()
    var parent = ParentChange.unchanged
    /// The targets of the receipts in the fields.
    var receipts: [ReceiptUse] = []
    var share = WebShare()
    /// True if the answer contains the link of a future share of the record.
    var createsShortGUID = false

    var isShare: Bool { recordType == Share.recordType }
    /// True if fields name assets only by their visible checksums.
    private(set) var hasUnresolvedAssets = false

    /// Sets the fields, and searches them for such assets.
    func setFields(_ fields: Fields) {
        self.fields = fields
        // The builder knows whether any field is an asset, so most records are not searched.
        hasUnresolvedAssets =
            fields.namesAssets
            && fields.contains { field in
                guard field.type == .asset || field.type == .assetList else { return false }
                return field.value?.assets.contains(where: WebFieldForm.isUnresolved) ?? false
            }
    }
}

/// The share that a request describes; `nil` if it describes none.
struct WebShare {
    var rootName: String?
    var publicPermission: SharePermission?
    var participants: [ShareParticipant]?

    var isEmpty: Bool { rootName == nil && publicPermission == nil && participants == nil }
}

/// A receipt in a field's value, and the target for which it was given.
struct ReceiptUse {
    let asset: AssetReference
    let target: AssetTarget?
}

/// Collects receipts while a body is read.
final class ReceiptUses {
    private let host: any WebHost
    private let caller: Caller
    private var uses: [ReceiptUse] = []
    /// Builds the fields of one record after another, in the same buffers.
    fileprivate var builder = FieldsBuilder()

    init(_ host: any WebHost, _ caller: Caller) {
        self.host = host
        self.caller = caller
        // Most records have less, and a buffer that grows is copied several times.
        builder.reserveCapacity(fields: 8, bytes: 256)
    }

    func asset(of receipt: String) -> AssetReference? {
        guard let (asset, target) = host.asset(ofReceipt: receipt, as: caller) else { return nil }
        // The reader of fields gets the asset alone. The target is kept here until the type of the
        // record is known, which may stand after the fields.
        uses.append(ReceiptUse(asset: asset, target: target))
        return asset
    }

    /// Returns the receipts that were read since the last call.
    func take() -> [ReceiptUse] {
        defer { uses = [] }
        return uses
    }
}

extension JSONReader {
    mutating func operation(_ receipts: ReceiptUses) throws(JSONError) -> WebOperation {
        let start = offset
        var kind: WebOperation.Kind?
        var record: WebRecord?
        var desiredKeys: [String]?
        try members { (it, name) throws(JSONError) in
            switch name {
            case "operationType":
                let text = try it.string()
                guard let named = WebOperation.Kind(rawValue: text) else {
                    throw JSONError(
                        "There is no operationType \"\(text)\"; the types are create, update, forceUpdate, replace, "
                            + "forceReplace, delete, forceDelete.",
                        at: start
                    )
                }
                kind = named
            case "record": record = try it.record(receipts)
            case "desiredKeys": desiredKeys = try it.strings()
            default: return false
            }
            return true
        }
        guard let kind else {
            throw JSONError("The member \"operationType\" is missing.", at: start)
        }
        return WebOperation(kind, record ?? WebRecord(), desiredKeys)
    }

    private mutating func record(_ receipts: ReceiptUses) throws(JSONError) -> WebRecord {
        let record = WebRecord()
        let removesParent = { (name: MemberName) in
            if case "parent" = name { record.parent = .removed }
        }
        try members(null: removesParent) { (it, name) throws(JSONError) in
            switch name {
            case "recordName": record.recordName = try it.string()
            case "recordType": record.recordType = try it.string()
            case "recordChangeTag": record.changeTag = try it.string()
            case "zoneID": record.zone = try it.zoneID()
            case "fields": record.setFields(try it.fields(receipts))
            case "parent": record.parent = .set(try it.neededMember("recordName"))
            case "createShortGUID": record.createsShortGUID = try it.truth()
            case "forRecord": record.share.rootName = try it.neededMember("recordName")
            case "publicPermission":
                record.share.publicPermission = try it.permission()
            case "participants":
                record.share.participants = try it.values { (it) throws(JSONError) in
                    try it.participant()
                }
            default: return false
            }
            return true
        }
        // Records are read one after another, so all receipts since the previous one are in this
        // record.
        record.receipts = receipts.take()
        return record
    }

    private mutating func fields(_ receipts: ReceiptUses) throws(JSONError) -> Fields {
        let start = offset
        // After an error the request is refused, so fields that remain in the builder are not used.
        try receipts.builder.readFields(from: &self, removesByNull: true)
        do throws(SyncError) {
            return try receipts.builder.finish()
        } catch {
            throw JSONError(error.message, at: start)
        }
    }

    private mutating func permission() throws(JSONError) -> SharePermission {
        let start = offset
        let name = try string()
        guard let permission = SharePermission(webName: name) else {
            throw JSONError(
                "There is no permission \"\(name)\"; the permissions are NONE, READ_ONLY, READ_WRITE.",
                at: start
            )
        }
        return permission
    }

    private mutating func participant() throws(JSONError) -> ShareParticipant {
        var participant = ShareParticipant()
        try members { (it, name) throws(JSONError) in
            switch name {
            case "participantId": participant.id = try it.string()
            case "userIdentity":
                switch try it.userIdentity() {
                case .email(let address)?: participant.email = address
                case .phone(let number)?: participant.phone = number
                case .user(let user)?: participant.user = user
                case nil: break
                }
            case "permission": participant.permission = try it.permission()
            case "type":
                let start = it.offset
                let name = try it.string()
                guard let role = ShareRole(webName: name) else {
                    let known = ShareRole.allCases.map(\.webName).joined(separator: ", ")
                    throw JSONError(
                        "There is no participant type \"\(name)\"; the types are \(known).",
                        at: start
                    )
                }
                participant.role = role
            default: return false
            }
            return true
        }
        return participant
    }

    private mutating func userIdentity() throws(JSONError) -> UserLookup? {
        var lookup: UserLookup?
        try members { (it, name) throws(JSONError) in
            switch name {
            case "userRecordName": lookup = .user(UserID(try it.string()))
            case "lookupInfo": if let found = try it.lookupInfo() { lookup = found }
            default: return false
            }
            return true
        }
        return lookup
    }

    /// Reads the lookup of a user.
    mutating func lookupInfo() throws(JSONError) -> UserLookup? {
        var lookup: UserLookup?
        try members { (it, name) throws(JSONError) in
            switch name {
            case "emailAddress": lookup = .email(try it.string())
            case "phoneNumber": lookup = .phone(try it.string())
            case "userRecordName": lookup = .user(UserID(try it.string()))
            default: return false
            }
            return true
        }
        return lookup
    }
}

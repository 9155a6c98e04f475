// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The record of a user: of type `Users`, in a default zone, under the user's own name, changed by
/// the user alone (Docs/semantics.md, "Users").
extension RecordRules {
    /// Refuses a save of another user's record, of one in another place, and of another record in
    /// such a record's place.
    func checkUsers(_ save: RecordSave) throws(SyncError) {
        let isDefault = scope != .shared && save.recordID.zone.name == ZoneID.default.name
        if Name(save.recordType) == Schema.RecordType.users.name {
            guard isDefault, save.recordID.name == userName else {
                throw .notOwnUserRecord(save.recordID)
            }
        } else if isDefault, scope == .public, save.recordID.name.beginsWithUnderscore {
            throw .invalidName(
                "record name",
                save.recordID.recordName,
                "begins with an underscore, which is kept for the records of users in the public "
                    + "database; choose another name, or the record type Users for your own record"
            )
        }
    }

    /// Refuses to delete a user's record.
    func checkUsers(_ deletion: RecordDeletion, _ item: ConsultedItem) throws(SyncError) {
        guard scope != .shared, deletion.recordID.zone.name == ZoneID.default.name,
            let live = item.live
        else { return }
        let type = try live.readBody().recordTypeBytes
        guard type.elementsEqual(Schema.RecordType.users.name.string.utf8) else { return }
        throw SyncError(
            .permissionFailure,
            "DELETE operation not permitted: \(deletion.recordID) is the record of a user, which is "
                + "there as long as its user is. Remove its fields instead."
        )
    }
}

extension Caller {
    /// The name of the caller's own user record; `nil` where nobody is signed in.
    ///
    /// Whoever asks as `__defaultOwner__` is the owner of a private database that has another.
    package var userRecordName: Name? {
        guard let user else { return nil }
        return user == .current && database.scope == .private
            ? database.owner.name : user.name
    }

    /// The caller's own user record before its first save; `nil` if another record is asked for.
    ///
    /// It has no change tag, as nothing has that was never saved.
    package func blankUserRecord(_ record: RecordID) -> Record? {
        guard database.scope != .shared, record.zone.name == ZoneID.default.name,
            let name = userRecordName, record.name == name
        else { return nil }
        let author = Authorship(time: 0, user: UserID(name.string))
        let header = RecordHeader(
            recordName: name,
            recordType: Schema.RecordType.users.name,
            created: author,
            modified: author
        )
        let body = RecordBody(header, setting: Fields(), extent: .wholeRecord, over: nil, of: 0)
        return Record(zone: record.zone, changeTag: nil, body: body)
    }
}

extension Name {
    fileprivate var beginsWithUnderscore: Bool { string.utf8.first == UInt8(ascii: "_") }
}

extension SyncError {
    /// A save of a user's record by somebody else, or in a place where it cannot be.
    fileprivate static func notOwnUserRecord(_ record: RecordID) -> SyncError {
        SyncError(
            .permissionFailure,
            "WRITE operation not permitted: \(record) cannot be saved with the record type Users. "
                + "Records of users are in the default zone, named after their user, who alone may "
                + "change them."
        )
    }
}

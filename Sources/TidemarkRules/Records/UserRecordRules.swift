// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The rules for a user's record: of type `Users`, in a default zone, named after the user, changed
/// only by the user (Docs/semantics.md, "Users").
extension RecordRules {
    /// Rejects a save of another user's record, of a user's record in another place, and of another
    /// record in the place of a user's record.
    func checkUsers(_ save: RecordSave) throws(SyncError) {
        // A shared database has no default zone, since default zones cannot be shared.
        let isDefault = scope != .shared && save.recordID.zone.name == ZoneID.default.name
        if save.typeName.isUsersType {
            guard isDefault, save.recordID.name == userName else {
                throw .notOwnUserRecord(save.recordID)
            }
        } else if isDefault, scope == .public, save.recordID.name.beginsWithUnderscore {
            throw .invalidName(
                "record name",
                save.recordID.recordName,
                "begins with an underscore, which is reserved for the records of users in the "
                    + "public database; choose another name, or the record type Users for your own "
                    + "record"
            )
        }
    }

    /// Rejects the deletion of a user's record.
    func checkUsers(_ deletion: RecordDeletion, _ item: ConsultedItem) throws(SyncError) {
        // The type is that of the existing record: a deletion does not state one.
        guard scope != .shared, deletion.recordID.zone.name == ZoneID.default.name,
            item.isUserRecord
        else { return }
        throw SyncError(
            .permissionFailure,
            "DELETE operation not permitted: \(deletion.recordID) is the record of a user, which "
                + "exists as long as its user does. Remove its fields instead."
        )
    }
}

extension ConsultedItem {
    /// True for the record of a user, which exists as long as its user does.
    var isUserRecord: Bool {
        let type = liveBody?.recordTypeBytes
        return type?.elementsEqual(Schema.RecordType.usersName.string.utf8) ?? false
    }
}

extension Caller {
    /// The name of the caller's own user record; `nil` if no user is signed in.
    ///
    /// A caller named `__defaultOwner__` stands for the owner of a private database, who has
    /// another name.
    package var userRecordName: Name? {
        guard let user else { return nil }
        return user == .current && database.scope == .private
            ? database.owner.name : user.name
    }

    /// Returns the caller's own user record before its first save; `nil` for any other record.
    ///
    /// The record has no change tag, because it was never saved.
    package func blankUserRecord(_ record: RecordID) -> Record? {
        guard database.scope != .shared, record.zone.name == ZoneID.default.name,
            let name = userRecordName, record.name == name
        else { return nil }
        let author = Authorship(time: 0, user: UserID(name.string))
        let header = RecordHeader(
            recordName: name,
            recordType: Schema.RecordType.usersName,
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
    /// Returns the error for saving another user's record, or a user's record in an invalid place.
    fileprivate static func notOwnUserRecord(_ record: RecordID) -> SyncError {
        SyncError(
            .permissionFailure,
            "WRITE operation not permitted: \(record) cannot be saved with the record type Users. "
                + "Records of users are in the default zone, named after their user, who alone may "
                + "change them."
        )
    }
}

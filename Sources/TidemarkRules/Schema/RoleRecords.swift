// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// user who has any.
package enum RoleRecords {
    private static let field = "roles"

    /// What gives a user some roles.
    package static func change(
        _ roles: [Schema.Role],
        of user: UserID
    ) throws(SyncError) -> SystemChange {
        var change = SystemChange(zone: .roles)
        if roles.isEmpty {
            change.deletions = [Name(user.userRecordName)]
        } else {
            let zone = SystemZone.roles.zone
            change.saves = [
                RecordSave(
                    RecordID(recordName: user.userRecordName, zone: zone),
                    type: "UserRoles",
                    fields: try Fields([field: .stringList(roles.map(\.name.string))]),
                    policy: .replace
                )
            ]
        }
        return change
    }

    /// The roles in a user's record; none if there is no record.
    package static func roles(in record: StoredRecord?) throws(SyncError) -> [Schema.Role] {
        guard let record, case .stringList(let names)? = try record.readBody().fields[field] else {
            return []
        }
        return names.map { Schema.Role(Name($0)) }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// The custom roles of users as records of the zone `_roles`: one record per user with any role.
package enum RoleRecords {
    private static let field = "roles"

    /// Returns the change that gives a user some roles.
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

    /// Returns the roles in a user's record; empty if there is no record.
    package static func roles(in record: StoredRecord?) throws(SyncError) -> [Schema.Role] {
        guard let record, case .stringList(let names)? = try record.readBody().fields[field] else {
            return []
        }
        return names.map { Schema.Role(Name($0)) }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A caller's access to the records of a public database.
///
/// An unknown record type, which only an import creates, has the default grants of new types:
/// otherwise no user could read the imported records. A class, so that a request holds it by one
/// reference.
package final class PublicAccess: Sendable {
    private let types: any SchemaTypes
    package let accessor: Accessor
    private let isExplained: Bool
    /// The position of the last event that the access depends on.
    package let lastSequence: SequenceNumber

    package init(
        _ types: any SchemaTypes,
        _ accessor: Accessor,
        rolesSequence: SequenceNumber,
        environment: Environment
    ) {
        self.types = types
        self.accessor = accessor
        // Only developers may see how a container is configured.
        isExplained = environment == .development
        lastSequence = max(types.lastSequence, rolesSequence)
    }

    /// Returns the error if the caller may not create a record; `nil` if the caller may.
    ///
    /// A user's own record counts as existing, and as created by the user.
    package func refusal(ofCreating type: Name) throws(SyncError) -> SyncError? {
        type.isUsersType
            ? try refusal(of: .write, on: type, createdBy: accessor.user)
            : try refusal(of: .create, on: type, createdBy: nil)
    }

    /// Returns the error if the caller may not do an operation on an existing record; `nil` if the
    /// caller may.
    package func refusal(
        of permission: Schema.Permissions,
        on record: RecordBody
    ) throws(SyncError) -> SyncError? {
        try refusal(of: permission, on: Name(record.recordType), createdBy: record.created.user)
    }

    /// Returns true if the caller may be notified of a deletion.
    ///
    /// This requires read access to the type, including read access as a creator, since the creator
    /// of a deleted record is unknown.
    package func mayHear(ofDeletionOf type: Name) throws(SyncError) -> Bool {
        try refusal(of: .read, on: type, createdBy: accessor.user) == nil
    }

    /// Returns a number that identifies the set of readable record types: zero for all.
    ///
    /// A delta contains the records that were readable with its token. Records that become readable
    /// later, or no longer are, would never be reported. A token with another number is therefore
    /// rejected.
    package func readability(_ hash: StoreHash) throws(SyncError) -> UInt64 {
        var text: [UInt8] = []
        var isByCreator = false
        let schema = try types.whole()
        // The order and form are fixed: tokens contain the hash (events.md, "Change token").
        for type in schema.recordTypes {
            func mayRead(createdBy creator: UserID?) -> Bool {
                schema.refusal(of: .read, on: type.name, createdBy: creator, to: accessor) == nil
            }
            // A record without a known creator stands for those of all other users.
            if mayRead(createdBy: nil) { continue }
            let readsOwn = mayRead(createdBy: accessor.user)
            isByCreator = isByCreator || readsOwn
            text.append(contentsOf: type.name.string.utf8)
            text.append(contentsOf: [0, readsOwn ? 1 : 0])
        }
        if isByCreator, let user = accessor.user {
            text.append(contentsOf: user.userRecordName.utf8)
        }
        // Zero means that all types are readable, so a hash must not be zero.
        return text.isEmpty ? 0 : max(hash.content(text.span.bytes), 1)
    }

    package func refusal(
        of permission: Schema.Permissions,
        on type: Name,
        createdBy creator: UserID?
    ) throws(SyncError) -> SyncError? {
        var schema = try types.excerpt(type).schema
        if schema[type] == nil {
            schema.set(Schema.RecordType(type, grants: Schema.Grant.standard))
        }
        return schema.refusal(of: permission, on: type, createdBy: creator, to: accessor)?
            .error(explained: isExplained)
    }

    /// Returns the user whose records of a type the caller may read: `nil` for all users' records.
    ///
    /// Throws `permissionFailure` or `notAuthenticated` if the caller may read none.
    package func readableRecords(of type: Name) throws(SyncError) -> UserID? {
        if try refusal(of: .read, on: type, createdBy: nil) == nil { return nil }
        if let refusal = try refusal(of: .read, on: type, createdBy: accessor.user) {
            throw refusal
        }
        return accessor.user
    }
}

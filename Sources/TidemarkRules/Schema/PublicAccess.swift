// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// What one caller may do with the records of a public database.
///
/// A record type that the schema does not have, which takes an import, has the grants that types have
/// which come by themselves: otherwise nobody could read what was imported.
package struct PublicAccess: Sendable {
    private let types: any SchemaTypes
    package let accessor: Accessor
    private let isExplained: Bool
    /// Position of the last event that it rests on.
    package let lastSequence: SequenceNumber

    package init(
        _ types: any SchemaTypes,
        _ accessor: Accessor,
        rolesSequence: SequenceNumber,
        environment: Environment
    ) {
        self.types = types
        self.accessor = accessor
        // How a container is set up is its developers' business.
        isExplained = environment == .development
        lastSequence = max(types.lastSequence, rolesSequence)
    }

    /// Why the caller may not create a record; `nil` if they may.
    ///
    /// A user's own record counts as there already, and as created by them.
    package func refusal(ofCreating type: Name) throws(SyncError) -> SyncError? {
        type == Schema.RecordType.users.name
            ? try refusal(of: .write, on: type, createdBy: accessor.user)
            : try refusal(of: .create, on: type, createdBy: nil)
    }

    /// Why the caller may not do something with a record that is there; `nil` if they may.
    package func refusal(
        of permission: Schema.Permissions,
        on record: RecordBody
    ) throws(SyncError) -> SyncError? {
        try refusal(of: permission, on: Name(record.recordType), createdBy: record.created.user)
    }

    /// Whether the caller may hear of a deletion: who reads the type, also by having created the
    /// record, since nobody knows any more who did.
    package func mayHear(ofDeletionOf type: Name) throws(SyncError) -> Bool {
        try refusal(of: .read, on: type, createdBy: accessor.user) == nil
    }

    /// What the caller may read, as a number that tells one answer from another: zero for everything.
    ///
    /// A delta counts what is readable by its token, so what becomes readable later, or ceases to be, would
    /// never be told: a token with another number is not answered.
    package func readability(_ hash: StoreHash) throws(SyncError) -> UInt64 {
        var text: [UInt8] = []
        var isByCreator = false
        let schema = try types.whole()
        for type in schema.recordTypes {
            func mayRead(createdBy creator: UserID?) -> Bool {
                schema.refusal(of: .read, on: type.name, createdBy: creator, to: accessor) == nil
            }
            if mayRead(createdBy: nil) { continue }
            let readsOwn = mayRead(createdBy: accessor.user)
            isByCreator = isByCreator || readsOwn
            text.append(contentsOf: type.name.string.utf8)
            text.append(contentsOf: [0, readsOwn ? 1 : 0])
        }
        if isByCreator, let user = accessor.user {
            text.append(contentsOf: user.userRecordName.utf8)
        }
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

    /// Whose records of a type the caller may read: `nil` for everybody's.
    ///
    /// Throws `permissionFailure` or `notAuthenticated` if nobody's.
    package func readableRecords(of type: Name) throws(SyncError) -> UserID? {
        if try refusal(of: .read, on: type, createdBy: nil) == nil { return nil }
        if let refusal = try refusal(of: .read, on: type, createdBy: accessor.user) {
            throw refusal
        }
        return accessor.user
    }
}

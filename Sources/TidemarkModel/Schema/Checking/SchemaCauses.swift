// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The errors of saves and queries that do not fit the schema.
///
/// The texts begin as CloudKit's do where those are known, because programs search for them.
extension SyncError {
    /// Returns the error for a record type that production does not have.
    package static func newRecordType(_ recordType: Name) -> SyncError {
        SyncError(
            .invalidArguments,
            "Cannot create new type \(recordType) in production schema. Save one in development, "
                + "then promote development's schema."
        )
    }

    /// Returns the error for a field that production does not have.
    package static func newField(_ field: Name, in recordType: Name) -> SyncError {
        SyncError(
            .invalidArguments,
            "Cannot create or modify field '\(field)' in record '\(recordType)' in production "
                + "schema. Save it in development, then promote development's schema."
        )
    }

    /// Returns the error for a value of another type than its field has.
    package static func valueTypeDiffers(
        _ recordType: Name,
        _ field: Schema.Field,
        _ type: FieldType,
        isEncrypted: Bool
    ) -> SyncError {
        guard !isEncrypted || field.type.isEncrypted else {
            return SyncError(
                .invalidArguments,
                "Attempt to save encrypted data in non encrypted field type: field "
                    + "'\(field.name)' for type '\(recordType)' is defined to be: "
                    + "\(field.type.reportedName). Only new fields can be encrypted."
            )
        }
        let found: Schema.DeclaredType = isEncrypted ? .encrypted(type) : .plain(type)
        return SyncError(
            .invalidArguments,
            "invalid attempt to set value type \(found.reportedName) for field '\(field.name)' for "
                + "type '\(recordType)', defined to be: \(field.type.reportedName). A field keeps "
                + "the type of its first value; save a value of that type, or use another field."
        )
    }

    /// Returns the error for an encrypted value in the public database.
    package static func encryptedInPublic(_ recordType: Name, _ field: Name) -> SyncError {
        SyncError(
            .invalidArguments,
            "encrypted fields are not supported in the public database: field '\(field)' for type "
                + "'\(recordType)'.",
            remedy: "Send the value without encryption, or save the record in a private database."
        )
    }

    /// Returns the error for an encrypted value of a type that cannot be encrypted.
    package static func cannotEncrypt(
        _ recordType: Name,
        _ field: Name,
        _ type: FieldType
    ) -> SyncError {
        SyncError(
            .invalidArguments,
            "Field '\(field)' for type '\(recordType)' is \(type.webName) and cannot be encrypted: "
                + "assets always are encrypted, and the store must read references.",
            remedy: "Send the value without encryption."
        )
    }

    /// Returns the error for a name that is reserved for the system.
    package static func reservedName(_ what: String, _ name: Name) -> SyncError {
        .invalidName(what, name.string, "is reserved for the system; choose another name")
    }

    /// One record type too many.
    package static func tooManyRecordTypes(_ name: Name, limit: Int) -> SyncError {
        SyncError(
            .limitExceeded,
            "The record type \(name) cannot be added: the schema has \(limit) record types, which "
                + "is the limit.",
            remedy: "Remove unused record types, or raise the limit."
        )
    }

    /// One field too many.
    package static func tooManyFields(_ count: Int, of recordType: Name, limit: Int) -> SyncError {
        SyncError(
            .limitExceeded,
            "The record type \(recordType) would have \(count) fields; at most \(limit) are allowed.",
            remedy: "Split the type, or raise the limit."
        )
    }

    /// Returns the error for a query for a record type that does not exist.
    package static func recordTypeNotFound(_ recordType: Name) -> SyncError {
        SyncError(
            .unknownItem,
            "Did not find record type: \(recordType).",
            remedy: "Check the name. In development the first save of a record creates its type: "
                + "save one, or add the type to the schema."
        )
    }

    /// A query for the records of users.
    package static let usersNotQueried = SyncError(
        .invalidArguments,
        "Records of the type Users cannot be found by a query; fetch them by their names."
    )

    /// Returns the error for a query by a field that does not exist.
    package static func fieldNotFound(_ key: Name, in recordType: Name) -> SyncError {
        SyncError(
            .invalidArguments,
            "Unknown field '\(key)' for type '\(recordType)'.",
            remedy: "Check the name. In development a field exists once a record with that field "
                + "was saved."
        )
    }

    /// Returns the error for a predicate for all record types, none of which has the field.
    package static func fieldNotFound(_ key: Name) -> SyncError {
        SyncError(
            .invalidArguments,
            "Unknown field '\(key)': neither a record type nor a record has it.",
            remedy: "Check the name. `tidemark schema export STORE` prints all fields."
        )
    }

    /// Returns the error for a query by a field that cannot have the required index.
    package static func cannotIndex(
        _ key: Query.Key,
        _ type: Schema.DeclaredType,
        _ index: Schema.Indexes,
        _ reason: String
    ) -> SyncError {
        SyncError(
            .invalidArguments,
            "Field '\(key.reportedName)' has a value type of \(type.reportedName) and cannot be "
                + "\(index): \(reason).",
            remedy: "Query by another field."
        )
    }

    /// Returns the error for a query in production whose index is missing; without a key that on
    /// any text.
    package static func indexMissing(
        _ key: Query.Key?,
        _ recordType: Name,
        _ index: Schema.Indexes
    ) -> SyncError {
        let asked = "\(index)".lowercased()
        let what =
            key.map { "Field '\($0.reportedName)' is not" } ?? "No field of '\(recordType)' is"
        let field = key?.schemaName.string ?? "FIELD"
        return SyncError(
            .invalidArguments,
            "\(what) marked \(asked). Add the index with `tidemark schema index STORE "
                + "\(recordType).\(field) \(asked) --environment production`."
        )
    }
}

extension Query.Key {
    /// CloudKit's name of the type in errors.
    fileprivate var reportedName: String {
        self == .system(.recordID) ? "recordName" : description
    }
}

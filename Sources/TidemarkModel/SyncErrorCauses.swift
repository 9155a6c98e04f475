// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The errors of each cause, so that a cause always has the same code and text.
extension SyncError {
    // MARK: Conflicts and missing things

    /// Returns the error for a record with another version than the client's.
    package static func recordChanged(_ record: RecordID, _ conflict: ConflictRecords) -> SyncError
    {
        let held = conflict.client.changeTag?.text ?? "none"
        let found = conflict.server.changeTag?.text ?? "none"
        return SyncError(
            .serverRecordChanged,
            "The record \(record) has changed: the save held change tag \(held), the server has "
                + "\(found).",
            conflict: conflict
        )
    }

    /// Returns the error for a save without a change tag of a record that exists.
    package static func recordExists(_ record: RecordID, _ conflict: ConflictRecords) -> SyncError {
        SyncError(
            .serverRecordChanged,
            "The record to insert already exists: \(record). A save without a change tag creates "
                + "a record.",
            conflict: conflict,
            remedy: "Fetch the record, change it and save it, or save with a policy such as "
                + "changedKeys."
        )
    }

    /// Returns the error for a save or fetch of a record that does not exist.
    package static func recordNotFound(_ record: RecordID) -> SyncError {
        SyncError(.unknownItem, "There is no record \(record).")
    }

    /// Returns the error for a save of a record under a type that is not its own.
    package static func recordTypeDiffers(
        _ record: RecordID,
        found: String,
        asked: String
    ) -> SyncError {
        SyncError(
            .invalidArguments,
            "The record \(record) has the type \(found), which cannot change; the save has the "
                + "type \(asked).",
            remedy: "Save it with its own type, or use another record name."
        )
    }

    /// Returns the error for a request to a zone that does not exist.
    package static func zoneNotFound(_ zone: ZoneID) -> SyncError {
        SyncError(.zoneNotFound, "There is no zone \(zone).")
    }

    /// Returns the error for a read of the past in a zone that did not exist then.
    package static func zoneNotFoundThen(_ zone: ZoneID) -> SyncError {
        SyncError(
            .zoneNotFound,
            "There was no zone \(zone) at that point of the past.",
            remedy: "Name a later point, or a zone that existed then."
        )
    }

    /// Returns the error for a request to a zone that the database does not show.
    ///
    /// In a shared database a zone is named with its owner.
    package static func zoneNotFound(_ zone: ZoneID, in database: DatabaseID) -> SyncError {
        guard database.scope == .shared else { return zoneNotFound(zone) }
        return SyncError(
            .zoneNotFound,
            "The shared database shows no zone \(zone).",
            remedy: zone.ownerName == ZoneID.currentOwner
                ? "Name the zone's owner: the zones of a shared database belong to other users."
                : "Accept the share that shows it, or list the zones that exist."
        )
    }

    /// Returns the error for a request to a zone that is gone, with the reason; `isPast` for a read of
    /// the past, as of which it was gone or did not exist yet.
    package static func zoneGone(
        _ zone: ZoneID,
        _ reason: ZoneDeletionReason,
        isPast: Bool = false
    ) -> SyncError {
        switch reason {
        case .deleted:
            isPast ? .zoneNotFoundThen(zone) : .zoneNotFound(zone)
        case .purged:
            SyncError(.userDeletedZone, "The user removed the data of the zone \(zone).")
        case .encryptedDataReset:
            SyncError(
                .zoneNotFound,
                "The zone \(zone) is gone because the account's encryption was reset.",
                userDidResetEncryptedData: true
            )
        }
    }

    /// Returns the error for an item of an atomic batch in which another one failed.
    package static func batchFailed(_ record: RecordID, because cause: RecordID?) -> SyncError {
        let other = cause.map { " \($0)" } ?? " another item"
        return SyncError(
            .batchRequestFailed,
            "The record \(record) was not changed, because\(other) failed in the same atomic batch."
        )
    }

    /// Returns the error of a request with failed items; `nil` if none failed.
    package static func partialFailure(_ errors: [ItemError]) -> SyncError? {
        if errors.isEmpty { return nil }
        return SyncError(
            .partialFailure,
            causes(of: errors),
            partialErrors: errors
        )
    }

    /// Returns the number of failed items, and the first few with their errors.
    private static func causes(of errors: [ItemError]) -> String {
        let count = errors.count == 1 ? "1 item" : "\(errors.count) items"
        let first = errors.prefix(3).map { "\($0.item): \($0.error.code): \($0.error.message)" }
        let rest = errors.count > first.count ? " And \(errors.count - first.count) more." : ""
        return "\(count) of the request failed. \(first.joined(separator: " "))\(rest)"
    }

    // MARK: References and parents

    /// Returns the error for a save that binds its record to one that does not exist.
    package static func targetMissing(_ record: RecordID, _ target: Name) -> SyncError {
        SyncError(
            .referenceViolation,
            "The record \(record) refers to \"\(target)\", which is not in its zone.",
            remedy: "Save the target first or in the same request, or use a reference without an "
                + "action."
        )
    }

    /// Returns the error for a save that binds its record to one that the same request deletes.
    package static func targetDeleted(_ record: RecordID, _ target: Name) -> SyncError {
        SyncError(
            .referenceViolation,
            "The record \(record) refers to \(target), which the same request deletes."
        )
    }

    /// Returns the error for a save of a record that the same request deletes, because of a
    /// reference.
    package static func savedAndDeleted(_ record: RecordID) -> SyncError {
        SyncError(
            .referenceViolation,
            "The request saves the record \(record), but also deletes a record that it refers to, "
                + "which deletes it too. Remove the reference, or do not delete its target."
        )
    }

    /// Returns the error for deleting a record that another, remaining one refers to.
    ///
    /// `other` is `nil` if the caller may not know of it.
    package static func stillReferredTo(_ record: RecordID, by other: Name?) -> SyncError {
        SyncError(
            .referenceViolation,
            "The record \(record) cannot be deleted, because "
                + "\(other?.string ?? "a record that is not shown to you") has it as its parent or "
                + "validates its reference to it.",
            remedy: "Delete the referring record in the same request, or change it first."
        )
    }

    /// Returns the error for a reference to a record of another zone.
    package static func referenceLeavesZone(
        _ record: RecordID,
        field: String,
        _ zone: ZoneID
    ) -> SyncError {
        SyncError(
            .invalidArguments,
            "The field \"\(field)\" of \(record) refers to a record of the zone \(zone); a "
                + "reference cannot point to another zone.",
            remedy: "Refer to a record of the same zone, or store the other name as a text."
        )
    }

    /// Returns the error for a record that would be a child of a share's own record.
    package static func parentIsShare(_ record: RecordID, _ parent: Name) -> SyncError {
        SyncError(
            .invalidArguments,
            "The record \(record) cannot have the share \(parent) as its parent. Use the share's "
                + "root record, or a record below it."
        )
    }

    /// Returns the error for a parent that is the record itself or one of its descendants.
    package static func parentCycle(_ record: RecordID) -> SyncError {
        SyncError(
            .invalidArguments,
            "The record \(record) cannot be below itself; choose a parent that is not below it."
        )
    }

    /// More records above one than allowed.
    package static func lineTooLong(_ record: RecordID, limit: Int) -> SyncError {
        SyncError(
            .limitExceeded,
            "The record \(record) would have more than \(limit) records above it.",
            remedy: "Choose a parent that has fewer records above it."
        )
    }

    /// More records that are deleted with one than allowed.
    package static func tooManyReferences(
        _ record: RecordID,
        _ target: Name,
        limit: Int
    ) -> SyncError {
        SyncError(
            .limitExceeded,
            "The record \(record) cannot refer to \(target): \(limit) records that are deleted "
                + "with the target already refer to it, which is the limit.",
            remedy: "Use a reference without an action."
        )
    }

    /// Returns the error for a record that is bound to more records than allowed.
    package static func tooManyBindings(
        _ record: RecordID,
        _ count: Int,
        limit: Int
    ) -> SyncError {
        SyncError(
            .limitExceeded,
            "The record \(record) refers to \(count) records by its parent and by references with an "
                + "action; the limit is \(limit).",
            remedy: "Use references without an action, or more than one record."
        )
    }

    // MARK: Assets

    /// Returns the error for a save that names an asset whose bytes the database does not hold.
    package static func assetNotHeld(_ record: RecordID, _ asset: String) -> SyncError {
        SyncError(
            .assetFileNotFound,
            "The record \(record) names the asset \(asset), whose bytes are not in its database; "
                + "upload them there, then save."
        )
    }

    /// Returns the error for a save that names an asset with a wrong size.
    package static func assetSizeDiffers(
        _ record: RecordID,
        _ asset: String,
        found: UInt64,
        said: UInt64
    ) -> SyncError {
        SyncError(
            .invalidArguments,
            "The record \(record) names the asset \(asset) with \(said) bytes, but it has "
                + "\(found). Use the value that its upload returned."
        )
    }

    /// Returns the error for a download from a field that has no asset.
    package static func noAsset(_ record: RecordID, field: String, element: Int) -> SyncError {
        let which = element == 0 ? "asset" : "asset number \(element)"
        return SyncError(
            .unknownItem,
            "The field \"\(field)\" of \(record) has no \(which).",
            remedy: "Check the field's name, and which version of the record is meant."
        )
    }

    /// Returns the error for an interrupted upload.
    package static func uploadBroken(_ reason: String) -> SyncError {
        SyncError(.networkFailure, "The upload of the asset was interrupted: \(reason).")
    }

    // MARK: Tokens and request ids

    /// Returns the error for an expired token.
    package static func tokenExpired(_ reason: String) -> SyncError {
        SyncError(.changeTokenExpired, "The change token can no longer be used: \(reason).")
    }

    /// Returns the error for bytes that no engine made, or for a token of something else.
    package static func tokenInvalid(_ reason: String) -> SyncError {
        SyncError(
            .invalidArguments,
            "The change token is not valid for this request: \(reason).",
            remedy: "Send the token that the last fetch of the same zone or database returned."
        )
    }

    /// Returns the error for a change tag that no store made.
    package static func tagInvalid(_ tag: RecordChangeTag, _ record: RecordID) -> SyncError {
        SyncError(
            .invalidArguments,
            "\"\(tag)\" is not a change tag of this store; fetch the record \(record) and use the tag "
                + "that comes with it."
        )
    }

    /// Returns the error for a request id that was used for another request.
    package static func requestIDReused(_ requestID: String) -> SyncError {
        SyncError(
            .invalidArguments,
            "The request id \"\(requestID)\" was used for a request with other content; give every "
                + "request an id of its own."
        )
    }

    // MARK: Unsupported requests

    /// Returns the error for a delta of a zone that has none in CloudKit, under the strict option.
    package static func noDelta(of zone: ZoneID) -> SyncError {
        SyncError(
            .invalidArguments,
            "CloudKit cannot fetch changes of the zone \(zone), and this store is strict; use a custom "
                + "zone, or open the store without the strict switch."
        )
    }

    /// Something that this database does not do.
    package static func badDatabase(_ database: DatabaseID, _ action: String) -> SyncError {
        SyncError(.badDatabase, "The \(database.scope.name) database does not \(action).")
    }

    /// Returns the error for a request without a user where one is required.
    package static func notAuthenticated(_ database: DatabaseID) -> SyncError {
        SyncError(
            .notAuthenticated,
            "The \(database.scope.name) database needs a user for this request."
        )
    }

    /// Something the caller may not do.
    package static func permissionFailure(_ what: String) -> SyncError {
        SyncError(.permissionFailure, what)
    }

    // MARK: Limits and names

    /// More items than one request may have.
    package static func tooManyItems(_ count: Int, limit: Int) -> SyncError {
        SyncError(
            .limitExceeded,
            "The request has \(count) items; at most \(limit) are allowed in one request."
        )
    }

    /// More bytes than one request may have.
    package static func requestTooLarge(_ byteCount: Int, limit: Int) -> SyncError {
        SyncError(
            .limitExceeded,
            "The request's records have \(byteCount) bytes; at most \(limit) are allowed in one "
                + "request."
        )
    }

    /// More bytes than one record may have.
    package static func recordTooLarge(
        _ record: RecordID,
        byteCount: Int,
        limit: Int
    ) -> SyncError {
        SyncError(
            .limitExceeded,
            "The record \(record) would have \(byteCount) bytes of fields; at most \(limit) are "
                + "allowed. Keep large values in assets."
        )
    }

    /// More fields than one record may have.
    package static func tooManyFields(_ count: Int, limit: Int) -> SyncError {
        SyncError(
            .limitExceeded,
            "The record would have \(count) fields; at most \(limit) are allowed.",
            remedy: "Leave fields out, or put them into a second record."
        )
    }

    /// Returns the error for a list with more elements than allowed.
    package static func listTooLong(_ field: String, count: Int, limit: Int) -> SyncError {
        SyncError(
            .limitExceeded,
            "The field \"\(field)\" holds a list of \(count) values; at most \(limit) are allowed.",
            remedy: "Shorten the list, or keep its values in records of their own."
        )
    }

    /// Returns the error for a field's name that is too long.
    package static func fieldNameTooLong(_ name: String, limit: Int) -> SyncError {
        SyncError(
            .invalidArguments,
            "The field name \"\(name)\" has \(name.utf8.count) bytes; at most \(limit) are allowed.",
            remedy: "Use a shorter name."
        )
    }

    /// Returns the error for a value that cannot be stored.
    static func invalidField(_ field: Fields.Element) -> SyncError {
        let problem = String(decoding: field.valueBytes, as: UTF8.self)
        return SyncError(.invalidArguments, "The field \"\(field.name)\" \(problem).")
    }

    /// Two values for one field.
    package static func fieldSetTwice(_ name: String) -> SyncError {
        SyncError(.invalidArguments, "The field \"\(name)\" is given twice; keep one of them.")
    }

    /// One record named by two items of a request.
    package static func recordNamedTwice(_ record: RecordID) -> SyncError {
        SyncError(
            .invalidArguments,
            "The request has two items for the record \(record); send one item for each record."
        )
    }

    /// Returns the error for a name that breaks a rule; of one that is far too long the error has
    /// the beginning.
    package static func invalidName(_ what: String, _ name: String, _ rule: String) -> SyncError {
        let beginning = String(String.UnicodeScalarView(name.unicodeScalars.prefix(60)))
        let shown = name.utf8.count <= 400 ? name : "\(beginning)…"
        return SyncError(.invalidArguments, "The \(what) \"\(shown)\" \(rule).")
    }
}

extension [SyncError.ItemError] {
    /// Adds the items that failed, each outcome being that of the item in its place.
    package mutating func add<Value>(
        _ items: [SyncError.Item],
        _ outcomes: [Result<Value, SyncError>]
    ) {
        for (item, outcome) in zip(items, outcomes) {
            if case .failure(let error) = outcome { append(.init(item, error)) }
        }
    }
}

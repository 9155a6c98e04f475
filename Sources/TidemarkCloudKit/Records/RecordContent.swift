// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The content of a record except its names.
struct RecordContent: Sendable {
    /// A field that has a value.
    struct Field: Sendable {
        var value: RecordValue
        var isEncrypted: Bool
    }

    /// The fields that have a value.
    var fields: [String: Field] = [:]
    /// The fields that were set or cleared since the record was fetched or saved.
    ///
    /// Each has the number of the change, and a flag for a cleared field that was encrypted.
    var changes: [String: Change] = [:]
    /// The encrypted dates for which the service has a number, see ``ExactDates``.
    var exactDates: Set<String> = []
    var changeTag: String?
    var creationDate: Date?
    var creator: CKRecordID?
    var modificationDate: Date?
    var lastModifier: CKRecordID?
    var parent: CKReference?
    var share: CKReference?
    /// The number of the last change of the parent; `nil` if it is as it was fetched or saved.
    var parentChange: Int?
    /// The number of changes so far.
    var changeCount = 0

    /// The last change of a field.
    struct Change: Sendable {
        var number: Int
        var isEncrypted: Bool
    }

    /// Sets a field, or with `nil` clears it.
    mutating func set(_ key: String, _ value: RecordValue?, isEncrypted: Bool) {
        changeCount += 1
        // A cleared field is a change too: the save sends the key without a value.
        changes[key] = Change(number: changeCount, isEncrypted: isEncrypted)
        guard var value else {
            fields[key] = nil
            return
        }
        // An empty array of Foundation's has no element type.
        if case .list(let elements, nil) = value, elements.isEmpty,
            case .list(let old, let type)? = fields[key]?.value
        {
            value = .list([], of: type ?? RecordValue.elementType(of: old))
        }
        fields[key] = Field(value: value, isEncrypted: isEncrypted)
    }

    mutating func setParent(_ reference: CKReference?) {
        changeCount += 1
        parentChange = changeCount
        parent = reference
    }

    /// Returns the value of a field, if its encryption matches.
    func value(_ key: String, isEncrypted: Bool) -> RecordValue? {
        guard let field = fields[key], field.isEncrypted == isEncrypted else { return nil }
        return field.value
    }

    /// Returns the names of fields that have a value.
    func keys(isEncrypted: Bool) -> [String] {
        fields.filter { $0.value.isEncrypted == isEncrypted }.map(\.key)
    }

    /// Returns the names of fields that were set or cleared.
    func changedKeys(isEncrypted: Bool) -> [String] {
        changes.filter { $0.value.isEncrypted == isEncrypted }.map(\.key)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

// Foundation on Linux has no key-value coding; a third of all programs use it on records.

extension CKRecord {
    /// Returns the value of a field, or of a property of this name if there is no such field.
    public func value(forKey key: String) -> Any? {
        object(forKey: key) ?? systemValue(key)
    }

    /// Sets a field; `nil` clears it.
    ///
    /// A value of a type that records cannot hold stops the program.
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value = value.flatMap(RecordValue.unwrapped), !(value is NSNull) else {
            setObject(nil, forKey: key)
            return
        }
        if key == SystemFieldKey.parent, let reference = value as? CKReference {
            parent = reference
            return
        }
        let taken = RecordValue(setting: value, forKey: key)
        change { $0.set(key, taken, isEncrypted: false) }
    }

    /// Sets several fields; `NSNull` clears one.
    public func setValuesForKeys(_ keyedValues: [String: Any]) {
        for (key, value) in keyedValues { setValue(value, forKey: key) }
    }

    /// Returns the values of several fields; `NSNull` for a field without a value.
    public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(
            keys.map { ($0, value(forKey: $0) ?? NSNull()) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Returns the value at the end of a path of names, such as `list.recordID.recordName`.
    public func value(forKeyPath keyPath: String) -> Any? {
        // A field's name may have dots, such as `cloudkit.title`, so the path is first tried as a
        // name.
        if let whole = value(forKey: keyPath) { return whole }
        var steps = keyPath.split(separator: ".").map(String.init)[...]
        guard let first = steps.popFirst() else { return nil }
        var found = value(forKey: first)
        for step in steps { found = found.flatMap { Self.part(step, of: $0) } }
        return found
    }

    /// Sets the field of this name.
    public func setValue(_ value: Any?, forKeyPath keyPath: String) {
        setValue(value, forKey: keyPath)
    }

    private static func part(_ key: String, of value: Any) -> Any? {
        switch (value, key) {
        case (let record as CKRecord, _): record.value(forKey: key)
        case (let reference as CKReference, "recordID"): reference.recordID
        case (let id as CKRecordID, "recordName"): id.recordName
        case (let id as CKRecordID, "zoneID"): id.zoneID
        case (let id as CKRecordZoneID, "zoneName"): id.zoneName
        case (let id as CKRecordZoneID, "ownerName"): id.ownerName
        case (let asset as CKAsset, "fileURL"): asset.fileURL
        default: nil
        }
    }

    /// Returns a system value, by the name of its property or of its `CKRecord.SystemFieldKey`.
    func systemValue(_ key: String) -> Any? {
        switch key {
        case "recordType": recordType
        case "recordChangeTag", "___etag": recordChangeTag
        case "recordID", "___recordID": recordID
        case "creationDate", "___createTime": creationDate
        case "creatorUserRecordID", "___createdBy": creatorUserRecordID
        case "modificationDate", "___modTime": modificationDate
        case "lastModifiedUserRecordID", "___modifiedBy": lastModifiedUserRecordID
        case "parent", SystemFieldKey.parent: parent
        case "share", SystemFieldKey.share: share
        default: nil
        }
    }
}

// MARK: Names

extension CKRecord {
    /// Types of records that the service knows.
    public enum SystemType {
        /// The record of a user.
        public static let userRecord: CKRecord.RecordType = "Users"
        /// A share.
        public static let share: CKRecord.RecordType = "cloudkit.share"
    }

    /// The names of system fields in predicates, sort descriptors and records.
    public enum SystemFieldKey {
        /// The parent.
        public static let parent: CKRecord.FieldKey = "___parent"
        /// The share that the record is the root of.
        public static let share: CKRecord.FieldKey = "___share"
        /// The record's names.
        public static var recordID: CKRecord.FieldKey { "recordID" }
        /// The user that saved the record first.
        public static var creatorUserRecordID: CKRecord.FieldKey { "creatorUserRecordID" }
        /// The time of the record's first save.
        public static var creationDate: CKRecord.FieldKey { "creationDate" }
        /// The user that saved the newest version.
        public static var lastModifiedUserRecordID: CKRecord.FieldKey { "lastModifiedUserRecordID" }
        /// The time of the newest version's save.
        public static var modificationDate: CKRecord.FieldKey { "modificationDate" }
    }
}

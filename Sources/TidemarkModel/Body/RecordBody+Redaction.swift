// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension RecordBody {
    /// Returns true if a user created the record or saved this version of it.
    package func isWritten(by user: UserID) -> Bool {
        let name = Array(user.userRecordName.utf8)
        return createdUserBytes.elementsEqual(name) || modifiedUserBytes.elementsEqual(name)
    }

    /// Returns the same version without a user as its creator or editor, and with other values of
    /// some fields.
    ///
    /// These fields keep their stamps, types and flags. The user's device is removed with the user.
    /// O(bytes).
    package func redacted(
        without user: UserID?,
        values: [String: FieldValue] = [:]
    ) -> RecordBody {
        let name = user.map { Array($0.userRecordName.utf8) }
        var cleared: Set<Text> = []
        if let name, textBytes(.createdUser).elementsEqual(name) {
            cleared.formUnion([.createdUser, .createdDevice])
        }
        if let name, textBytes(.modifiedUser).elementsEqual(name) {
            cleared.formUnion([.modifiedUser, .modifiedDevice])
        }
        var redacted = Array(bytes.prefix(Self.headerByteCount))
        for text in Text.allCases {
            if cleared.contains(text) {
                // The texts are written one after another, so a text of length zero needs no other
                // change.
                redacted[text.lengthOffset] = 0
                redacted[text.lengthOffset + 1] = 0
            } else {
                redacted.append(contentsOf: textBytes(text))
            }
        }
        if values.isEmpty {
            redacted.append(contentsOf: fields.bytes)
        } else {
            fields.append(to: &redacted, replacing: values)
        }
        return RecordBody(sound: redacted[...])
    }
}

extension Fields {
    /// Appends the fields' bytes with other values of some, each of the type that the field has.
    fileprivate func append(to bytes: inout [UInt8], replacing values: [String: FieldValue]) {
        bytes.append(littleEndian: UInt16(truncatingIfNeeded: count))
        let encoded = map { field -> [UInt8] in
            // The row keeps its type, so a value of another type would not be readable.
            guard let value = values[field.name], value.type == field.type else {
                return Array(field.valueBytes)
            }
            return value.encoded
        }
        var end = 0
        for (field, value) in zip(self, encoded) {
            end += field.nameBytes.count + FieldEntry.stampByteCount(of: field.stamp) + value.count
            FieldEntry.appendRow(
                end: end,
                nameByteCount: field.nameBytes.count,
                type: field.entry.type,
                flags: field.entry.flags,
                stamp: field.stamp,
                to: &bytes
            )
        }
        for (field, value) in zip(self, encoded) {
            bytes.append(contentsOf: field.nameBytes)
            FieldEntry.appendStamp(field.stamp, to: &bytes)
            bytes.append(contentsOf: value)
        }
    }
}

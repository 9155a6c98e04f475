// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The place of a field among the bytes of fields.
///
/// For code that reads the fields of millions of records.
package struct FieldPlace: Sendable {
    /// The name's bytes.
    package let name: Range<Int>
    /// The value's bytes; none for a field that was removed.
    package let value: Range<Int>
    /// The type; `nil` if the field is removed.
    package let type: FieldType?
    /// True if the client encrypted the value.
    package let isEncrypted: Bool
}

extension Fields {
    /// Returns the place of a field in ``bytes``, by its index in the order of the names' bytes.
    ///
    /// O(1). Does not retain the bytes.
    package func place(at index: Int) -> FieldPlace {
        let entry = FieldEntry(at: index, in: bytes.span.bytes)
        return FieldPlace(
            name: entry.nameRange,
            value: entry.valueRange,
            type: FieldType(rawValue: entry.type),
            isEncrypted: entry.flags & FieldEntry.encrypted != 0
        )
    }
}

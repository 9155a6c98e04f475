// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Where a field lies among the bytes of fields: for those who read the fields of millions of records.
package struct FieldPlace: Sendable {
    /// The name's bytes.
    package let name: Range<Int>
    /// The value's bytes; none for a field that was removed.
    package let value: Range<Int>
    /// The type; `nil` if the field is removed.
    package let type: FieldType?
    /// Whether the client encrypted the value.
    package let isEncrypted: Bool
}

extension Fields {
    /// Where a field lies in ``bytes``, by its place in the order of the names' bytes.
    ///
    /// O(1), without another owner of the bytes.
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

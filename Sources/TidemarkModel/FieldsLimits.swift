// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Limits {
    /// Refuses fields with a name that no field may have, and lists that are too long.
    ///
    /// O(fields and bytes of names), without copying anything.
    package func check(_ fields: Fields) throws(SyncError) {
        let span = fields.bytes.span.bytes
        for index in 0..<fields.count {
            let entry = FieldEntry(at: index, in: span)
            let isAllowed = span.extracting(entry.nameRange).withUnsafeBytes { isIdentifier($0) }
            guard isAllowed else { throw fieldNameError(fields[index].nameBytes) }
            if entry.type == FieldEntry.invalid { throw .invalidField(fields[index]) }
            // A list of n elements has at least n bytes.
            if entry.valueRange.count > elementsPerList { try checkList(fields[index]) }
        }
    }

    /// Returns true if fields that a schema has admitted are surely allowed.
    ///
    /// A schema has valid names only, and no list has more elements than bytes. O(1).
    @inline(__always)
    package func allow(admitted fields: Fields) -> Bool {
        identifierByteCount >= 255 && fields.bytes.count <= elementsPerList
    }

    private func checkList(_ field: Fields.Element) throws(SyncError) {
        guard field.type?.element != nil, let count = field.value?.elementCount,
            count > elementsPerList
        else { return }
        throw .listTooLong(field.name, count: count, limit: elementsPerList)
    }
}

extension FieldValue {
    /// The number of elements of a list; `nil` for any other value.
    package var elementCount: Int? {
        switch self {
        case .stringList(let list): list.count
        case .int64List(let list): list.count
        case .doubleList(let list): list.count
        case .bytesList(let list): list.count
        case .timestampList(let list): list.count
        case .locationList(let list): list.count
        case .referenceList(let list): list.count
        case .assetList(let list): list.count
        case .string, .int64, .double, .bytes, .timestamp, .location, .reference, .asset: nil
        }
    }
}

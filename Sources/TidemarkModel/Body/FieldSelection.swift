// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The fields of each record that a client requests: CloudKit's desired keys.
///
/// Created once for a request, so that each record takes one walk along its rows.
package struct FieldSelection: Sendable {
    /// Ascending, none twice.
    private let names: [Name]

    /// Prepares names in any order.
    package init(_ names: [String]) {
        self.names = Set(names.map { Name($0) }).sorted()
    }

    /// Returns the same record with the selected fields only.
    ///
    /// System fields and stamps stay. O(fields + names), one allocation.
    package func narrow(_ body: RecordBody) -> RecordBody {
        let fields = body.fields
        let span = fields.bytes.span.bytes
        let kept = rows(of: fields)
        if kept.count == fields.count { return body }
        let fieldsStart = fields.bytes.startIndex
        var bytes = Array(body.bytes[..<fieldsStart])
        bytes.reserveCapacity(body.bytes.count)
        bytes.append(littleEndian: UInt16(truncatingIfNeeded: kept.count))
        var end = 0
        for row in kept {
            // A row has the end of its field's data, which moves if a field before it is left out.
            // The data itself, with the stamp, is copied unchanged.
            let entry = FieldEntry(at: row, in: span)
            end += entry.end - entry.start
            FieldEntry.appendRow(
                end: end,
                nameByteCount: entry.nameByteCount,
                type: entry.type,
                flags: entry.flags,
                stamp: entry.stamp(in: span),
                to: &bytes
            )
        }
        for row in kept {
            let entry = FieldEntry(at: row, in: span)
            bytes.append(
                contentsOf: fields.bytes[fieldsStart + entry.start..<fieldsStart + entry.end]
            )
        }
        return RecordBody(sound: bytes[...])
    }

    /// Returns the rows whose fields are selected: both lists are in the order of the names' bytes.
    private func rows(of fields: Fields) -> [Int] {
        let span = fields.bytes.span.bytes
        var rows: [Int] = []
        var next = 0
        for row in 0..<fields.count {
            let entry = FieldEntry(at: row, in: span)
            while next < names.count {
                let order = names[next].withBytes {
                    entry.compareName(to: UnsafeRawBufferPointer($0), in: span)
                }
                // The field sorts before the next selected name, so no later name is equal to it.
                if order < 0 { break }
                next += 1
                if order == 0 {
                    rows.append(row)
                    break
                }
            }
        }
        return rows
    }
}

extension Record {
    /// Returns the same version with the selected fields only; all of them if nothing is selected.
    package func narrowed(to selection: FieldSelection?) -> Record {
        // A share is returned whole: it cannot be decoded without its participants.
        guard let selection, !body.isShare else { return self }
        return Record(zone: zone, changeTag: changeTag, body: selection.narrow(body))
    }
}

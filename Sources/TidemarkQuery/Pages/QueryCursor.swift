// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The end of a query's page: the sort values of its last record.
///
/// The cursor contains no count, so that records added or removed before it do not move it.
package struct QueryCursor: Hashable, Sendable {
    /// Identifies the query and zones of the cursor.
    let signature: UInt64
    let values: [SQLValue]

    /// Returns a hash that differs between queries and zones (FNV-1a).
    package static func signature(of query: Query, zones: [UInt64]) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        for byte in query.description.utf8 { add(byte) }
        for zone in zones {
            for shift in stride(from: 0, to: 64, by: 8) {
                add(UInt8(truncatingIfNeeded: zone >> UInt64(shift)))
            }
        }
        return hash
    }
}

extension QueryCursor {
    /// The cursor as opaque bytes for clients, which are checked when they are sent back.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = [1]
        Self.append(signature, to: &bytes)
        for value in values {
            switch value {
            case .null: bytes.append(0)
            case .int(let number):
                bytes.append(1)
                Self.append(UInt64(bitPattern: number), to: &bytes)
            case .real(let number):
                bytes.append(2)
                Self.append(number.bitPattern, to: &bytes)
            case .blob(let content):
                bytes.append(3)
                Self.append(UInt64(content.count), to: &bytes)
                bytes.append(contentsOf: content)
            }
        }
        return bytes
    }

    /// Reads a cursor; `nil` for invalid bytes.
    package init?(bytes: [UInt8]) {
        var rest = bytes[...]
        // The first byte is the version of the form.
        guard rest.popFirst() == 1, let signature = Self.popWord(&rest) else { return nil }
        var values: [SQLValue] = []
        while let tag = rest.popFirst() {
            switch tag {
            case 0: values.append(.null)
            case 1:
                guard let word = Self.popWord(&rest) else { return nil }
                values.append(.int(Int64(bitPattern: word)))
            case 2:
                guard let word = Self.popWord(&rest) else { return nil }
                values.append(.real(Double(bitPattern: word)))
            case 3:
                // The bytes come from a client, so the count is checked before it is used as a
                // length.
                guard let count = Self.popWord(&rest), count <= UInt64(rest.count) else {
                    return nil
                }
                values.append(.blob(Array(rest.prefix(Int(count)))))
                rest = rest.dropFirst(Int(count))
            default: return nil
            }
        }
        self.init(signature: signature, values: values)
    }

    private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 0, to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
        }
    }

    private static func popWord(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        guard bytes.count >= 8 else { return nil }
        var word: UInt64 = 0
        for byte in bytes.prefix(8).reversed() { word = word << 8 | UInt64(byte) }
        bytes = bytes.dropFirst(8)
        return word
    }
}

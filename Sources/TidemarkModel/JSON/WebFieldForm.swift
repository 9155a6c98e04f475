// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The form of fields in a request of CloudKit Web Services, where it differs from a change
/// stream's.
///
/// Unknown members are ignored. Numbers may be strings. The type of a value without a type is
/// derived from its form. `null` removes the field.
package final class WebFieldForm {
    // A class, because readers are copied to look ahead, and each copy has the form.

    /// The asset of a receipt; `nil` for a text that is not a receipt.
    package let assetOfReceipt: (String) -> AssetReference?
    /// The name of the caller's user, as the owner of zones; `nil` if nobody is signed in.
    package let callerName: String?

    /// Wraps a reader of receipts.
    package init(
        callerName: String?,
        assetOfReceipt: @escaping (String) -> AssetReference?
    ) {
        self.callerName = callerName
        self.assetOfReceipt = assetOfReceipt
    }

    /// The form of an asset's checksum on the wire: a version, and the first bytes of the SHA-256.
    package static let checksumVersion: UInt8 = 1
    private static let shownByteCount = 20
    private static let byteCount = 32

    /// Returns the checksum as clients see it: 21 bytes.
    package static func shownChecksum(of asset: AssetReference) -> [UInt8] {
        [checksumVersion] + asset.checksum.prefix(shownByteCount)
    }

    /// Returns true if a request named an asset by the checksum that clients see.
    ///
    /// The asset of the record must then still be looked up.
    package static func isUnresolved(_ asset: AssetReference) -> Bool {
        // A checksum that clients see has 20 of 32 bytes, and `asset` fills up the rest with zeros.
        // A SHA-256 ends in twelve zero bytes with a probability of 2^-96.
        asset.checksum.count == byteCount
            && asset.checksum[shownByteCount...].allSatisfy { $0 == 0 }
    }

    /// Returns true if a name of a type does not name a type: an empty list without a type.
    static func namesNoType(_ name: String) -> Bool { name == "UNKNOWN_LIST" }

    /// Returns the asset that a request names.
    func asset(
        _ receipt: String?,
        _ checksum: [UInt8]?,
        _ size: Int64?,
        at start: Int
    ) throws(JSONError) -> AssetReference {
        if let receipt {
            guard let asset = assetOfReceipt(receipt) else {
                throw JSONError(
                    "The receipt is not valid, or is older than a day; upload the asset again.",
                    at: start
                )
            }
            return asset
        }
        guard let checksum, checksum.first == Self.checksumVersion,
            checksum.count == Self.shownByteCount + 1
        else {
            throw JSONError(
                "An asset needs the receipt of its upload, or of assets/rereference.",
                at: start
            )
        }
        let unknown = [UInt8](repeating: 0, count: Self.byteCount - Self.shownByteCount)
        return AssetReference(
            checksum: checksum.dropFirst() + unknown,
            byteCount: UInt64(clamping: size ?? 0)
        )
    }
}

extension JSONReader {
    /// Reads a value whose form determines its type; `nil` for an empty list, which has none.
    mutating func webValue() throws(JSONError) -> FieldValue? {
        switch try peek() {
        case .string: return try value(of: .string)
        case .number: return try value(of: try numberType())
        case .object:
            guard let type = try objectType() else { throw typeNeeded() }
            return try value(of: type)
        case .array:
            // A copy looks at the value, so that nothing is consumed before the type is known.
            var ahead = self
            var array = try ahead.openArray()
            guard try ahead.nextElement(of: &array) else {
                try skip()
                return nil
            }
            switch try ahead.peek() {
            case .string: return try value(of: .stringList)
            case .number: return try value(of: try ahead.numberListType(&array))
            case .object:
                guard let type = try ahead.objectType()?.listType else { throw typeNeeded() }
                return try value(of: type)
            case .array, .boolean, .null: throw typeNeeded()
            }
        case .boolean: return try value(of: .int64)
        case .null:
            try null()
            return nil
        }
    }

    private func typeNeeded() -> JSONError {
        JSONError("The value's type cannot be inferred; add the member \"type\".", at: offset)
    }

    private func numberType() throws(JSONError) -> FieldType {
        var ahead = self
        return try ahead.number().isWhole ? .int64 : .double
    }

    private mutating func numberListType(
        _ array: inout Container
    ) throws(JSONError) -> FieldType {
        repeat {
            guard try peek() == .number else { throw typeNeeded() }
            // One number with a fraction anywhere makes it a list of doubles.
            guard try number().isWhole else { return .doubleList }
        } while try nextElement(of: &array)
        return .int64List
    }

    /// Returns the type of a value that is an object, by its members.
    private func objectType() throws(JSONError) -> FieldType? {
        var ahead = self
        var type: FieldType?
        var object = try ahead.openObject()
        while let key = try ahead.nextKey(of: &object) {
            // An entry of assets/rereference is an asset, and has the name of its record too.
            if ahead.isWord(key, "recordName") {
                type = type ?? .reference
            } else if ahead.isWord(key, "latitude") {
                type = .location
            } else if ahead.isWord(key, "fileChecksum") || ahead.isWord(key, "receipt") {
                type = .asset
            }
            try ahead.skip()
        }
        return type
    }
}

extension JSONReader {
    /// Reads a value of a request: plain, or as the value of a field, with or without its type.
    ///
    /// Returns `nil` for `null` and for an empty list without a type.
    package mutating func webFieldValue() throws(JSONError) -> FieldValue? {
        guard try peek() == .object else { return try webValue() }
        if let type = try objectType() { return try value(of: type) }
        let typed = try typedValue()
        if case .absent = typed.content { return nil }
        var value = again(at: typed.offset)
        guard let type = typed.type else { return try value.webValue() }
        return try value.value(of: type)
    }
}

extension FieldsBuilder {
    /// Appends a value and returns the type that its form determines; `nil` for an empty list.
    mutating func appendWebValue(from reader: inout JSONReader) throws(JSONError) -> FieldType? {
        if try reader.peek() == .string {
            // A text is always valid and is its own encoding, so it needs no `FieldValue`.
            try withScratch { bytes throws(JSONError) in try reader.appendText(to: &bytes) }
            return .string
        }
        let offset = reader.offset
        guard let value = try reader.webValue() else { return nil }
        if let problem = value.invalidity { throw JSONError("It \(problem).", at: offset) }
        withScratch { value.encode(into: &$0) }
        return value.type
    }
}

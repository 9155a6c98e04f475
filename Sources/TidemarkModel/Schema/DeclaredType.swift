// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Schema {
    /// The declared type of a field's values in a schema.
    public enum DeclaredType: Hashable, Sendable {
        /// Values of one type that the store can read.
        case plain(FieldType)
        /// Values of one type that a client encrypted.
        case encrypted(FieldType)
        /// Whole or floating-point numbers, not settled yet.
        case number
        /// Lists of whole or of floating-point numbers, not settled yet.
        case numberList
    }
}

extension Schema.DeclaredType {
    /// The type of a list's elements; `nil` if this is not a list.
    public var element: Self? {
        switch self {
        case .plain(let type): type.element.map(Self.plain)
        case .encrypted(let type): type.element.map(Self.encrypted)
        case .number: nil
        case .numberList: .number
        }
    }

    /// True if a client encrypts the values.
    public var isEncrypted: Bool {
        if case .encrypted = self { true } else { false }
    }

    /// Returns true if a value may be stored under this type.
    ///
    /// Ciphertext arrives as bytes, whatever its plaintext was, so an encrypted type takes
    /// encrypted bytes too.
    public func admits(_ type: FieldType, isEncrypted: Bool) -> Bool {
        switch self {
        case .plain(let own): !isEncrypted && type == own
        case .encrypted(let own): isEncrypted && (type == own || type == .bytes)
        case .number: !isEncrypted && (type == .int64 || type == .double)
        case .numberList: !isEncrypted && (type == .int64List || type == .doubleList)
        }
    }

    /// Returns true if a client can encrypt values of a type.
    ///
    /// False for assets, which are always encrypted, and for references, which must be readable.
    public static func canEncrypt(_ type: FieldType) -> Bool {
        switch type {
        case .asset, .reference, .assetList, .referenceList: false
        default: true
        }
    }

    /// Returns true if a field may change from this type to another.
    ///
    /// Only a number without a specific type may become an integer or a double.
    public func canBecome(_ other: Self) -> Bool {
        switch (self, other) {
        case (.number, .plain(.int64)), (.number, .plain(.double)): true
        case (.numberList, .plain(.int64List)), (.numberList, .plain(.doubleList)): true
        default: self == other
        }
    }
}

extension Schema.DeclaredType {
    /// The type as an error names it, such as `STRING_LIST` or `ENCRYPTED_STRING`.
    public var reportedName: String {
        switch self {
        case .plain(let type): type.webName
        case .encrypted(let type): "ENCRYPTED_\(type.webName)"
        case .number: "NUMBER"
        case .numberList: "NUMBER_LIST"
        }
    }
}

extension Schema.DeclaredType: CustomStringConvertible {
    /// The type in the schema language, such as `LIST<STRING>` or `ENCRYPTED STRING`.
    public var description: String {
        if let element { return "LIST<\(element)>" }
        return switch self {
        case .plain(.asset): "ASSET"
        case .plain(let type): type.webName
        case .encrypted(let type): "ENCRYPTED \(type.webName)"
        case .number, .numberList: "NUMBER"
        }
    }
}

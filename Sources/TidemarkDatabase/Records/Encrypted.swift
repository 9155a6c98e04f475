// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Marks the field of a property as encrypted.
///
/// ```swift
/// struct Contact: RecordCodable {
///     static let recordType = "Contact"
///     var id = RecordName.unique()
///     @Encrypted var telephone: String?
/// }
/// ```
///
/// As in CloudKit, the mark is for the schema and for queries, which do not read such fields. The
/// app has to encrypt the value.
@propertyWrapper
public struct Encrypted<Value: Codable & Sendable>: Codable, Sendable {
    /// The value.
    public var wrappedValue: Value

    /// Wraps a value.
    public init(wrappedValue: Value) {
        self.wrappedValue = wrappedValue
    }

    /// Decodes the value without a wrapper.
    public init(from decoder: any Decoder) throws {
        wrappedValue = try decoder.singleValueContainer().decode(Value.self)
    }

    /// Encodes the value without a wrapper.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension Encrypted: Equatable where Value: Equatable {}
extension Encrypted: Hashable where Value: Hashable {}

/// The access of coders to an encrypted property whose type they do not know.
protocol EncryptedProperty {
    /// The wrapped value.
    var content: any Encodable { get }
    /// Decodes the value with a closure.
    static func decoded(by decode: (any Decodable.Type) throws -> Any) throws -> Self
}

extension Encrypted: EncryptedProperty {
    var content: any Encodable { wrappedValue }

    static func decoded(by decode: (any Decodable.Type) throws -> Any) throws -> Encrypted {
        guard let value = try decode(Value.self) as? Value else {
            preconditionFailure("a decoder answered with another type than \(Value.self)")
        }
        return Encrypted(wrappedValue: value)
    }
}

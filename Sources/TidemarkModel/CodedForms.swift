// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Any encoder can write the state that a device stores between two runs of its app. The names of
// the members are permanent: devices have files with them.

/// A type that is encoded as one text.
protocol CodedAsText: Codable {
    /// The text.
    var codedText: String { get }
    /// Reads the text; `nil` if it is not one.
    init?(_ codedText: String)
}

extension CodedAsText {
    static func decoded(from decoder: any Decoder) throws -> Self {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Self(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "This is not a \(Self.self): \(text)"
            )
        }
        return value
    }

    func encodeText(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(codedText)
    }
}

extension ChangeToken: CodedAsText {
    var codedText: String { description }

    /// Reads the printed form.
    public init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

    /// Writes the printed form.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension RecordChangeTag: CodedAsText {
    var codedText: String { text }

    /// Reads the tag's text.
    public init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

    /// Writes the tag's text.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension UserID: CodedAsText {
    var codedText: String { userRecordName }

    /// Reads the name of the user's record.
    public init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

    /// Writes the name of the user's record.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension ContainerID: CodedAsText {
    var codedText: String { identifier }

    /// Reads the identifier.
    public init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

    /// Writes the identifier.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension Environment: Codable {}
extension DatabaseScope: Codable {}
extension Reference.Action: Codable {}

extension ZoneID: Codable {
    private enum CodingKeys: String, CodingKey { case zoneName, ownerName }

    /// Reads `zoneName`, and `ownerName` if it is not the current user.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            zoneName: try container.decode(String.self, forKey: .zoneName),
            ownerName: try container.decodeIfPresent(String.self, forKey: .ownerName)
                ?? Self.currentOwner
        )
    }

    /// Writes `zoneName`, and `ownerName` if it is not the current user.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(zoneName, forKey: .zoneName)
        if ownerName != Self.currentOwner { try container.encode(ownerName, forKey: .ownerName) }
    }
}

extension RecordID: Codable {
    private enum CodingKeys: String, CodingKey { case recordName, zone }

    /// Reads `recordName` and `zone`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            recordName: try container.decode(String.self, forKey: .recordName),
            zone: try container.decode(ZoneID.self, forKey: .zone)
        )
    }

    /// Writes `recordName` and `zone`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(recordName, forKey: .recordName)
        try container.encode(zone, forKey: .zone)
    }
}

extension DatabaseID: Codable {
    private enum CodingKeys: String, CodingKey { case container, environment, scope, owner }

    /// Reads `container`, `environment`, `scope` and `owner`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            container: try container.decode(ContainerID.self, forKey: .container),
            environment: try container.decode(Environment.self, forKey: .environment),
            scope: try container.decode(DatabaseScope.self, forKey: .scope),
            owner: try container.decode(UserID.self, forKey: .owner)
        )
    }

    /// Writes `container`, `environment`, `scope` and `owner`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.container, forKey: .container)
        try container.encode(environment, forKey: .environment)
        try container.encode(scope, forKey: .scope)
        try container.encode(owner, forKey: .owner)
    }
}

extension Reference: Codable {
    private enum CodingKeys: String, CodingKey { case recordName, zone, action }

    /// Reads `recordName`, `zone` and `action`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            recordName: try container.decode(String.self, forKey: .recordName),
            zone: try container.decodeIfPresent(ZoneID.self, forKey: .zone),
            action: try container.decode(Action.self, forKey: .action)
        )
    }

    /// Writes `recordName`, `zone` and `action`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(recordName, forKey: .recordName)
        try container.encodeIfPresent(zone, forKey: .zone)
        try container.encode(action, forKey: .action)
    }
}

extension Record: Codable {
    private enum CodingKeys: String, CodingKey { case zone, changeTag, body }

    /// Reads `zone`, `changeTag` and `body`; everything in the body is checked.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let text = try container.decode(String.self, forKey: .body)
        guard let bytes = Base64.bytes(ofURLText: text.utf8) else {
            throw DecodingError.dataCorruptedError(
                forKey: .body,
                in: container,
                debugDescription: "The body is not base64url without padding."
            )
        }
        let body: RecordBody
        do throws(BodyError) {
            // The coded form is from a file or another process, so nothing about it can be trusted.
            body = try RecordBody(validating: bytes[...])
        } catch {
            throw DecodingError.dataCorruptedError(
                forKey: .body,
                in: container,
                debugDescription: "At byte \(error.offset) of the body: \(error.message)"
            )
        }
        self.init(
            zone: try container.decode(ZoneID.self, forKey: .zone),
            changeTag: try container.decodeIfPresent(RecordChangeTag.self, forKey: .changeTag),
            body: body
        )
    }

    /// Writes `zone`, `changeTag`, and as `body` the record's bytes in base64url without padding.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(zone, forKey: .zone)
        try container.encodeIfPresent(changeTag, forKey: .changeTag)
        try container.encode(Base64.urlText(of: body.bytes), forKey: .body)
    }
}

extension Name: CodedAsText {
    var codedText: String { string }

    /// Reads the text.
    public init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

/// Bytes as base64url without padding.
private struct CodedBytes: CodedAsText {
    var bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    init?(_ codedText: String) {
        guard let bytes = Base64.bytes(ofURLText: codedText.utf8) else { return nil }
        self.bytes = bytes
    }

    var codedText: String { Base64.urlText(of: bytes[...]) }

    init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

    func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension Fields: Codable {
    /// Reads the fields' bytes in base64url without padding; all of them are checked.
    public init(from decoder: any Decoder) throws {
        let bytes = try CodedBytes(from: decoder).bytes
        do throws(BodyError) {
            self = try Fields(validating: bytes[...])
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "At byte \(error.offset) of the fields: \(error.message)"
                )
            )
        }
    }

    /// Writes the fields' bytes in base64url without padding.
    public func encode(to encoder: any Encoder) throws {
        try CodedBytes(Array(bytes)).encode(to: encoder)
    }
}

extension Fields.Element: Codable {
    /// Reads fields that consist of one field.
    public init(from decoder: any Decoder) throws {
        let fields = try Fields(from: decoder)
        guard fields.count == 1 else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "One field is expected, not \(fields.count)."
                )
            )
        }
        self = fields[0]
    }

    /// Writes the field as fields that consist of one, without the event that set it.
    public func encode(to encoder: any Encoder) throws {
        var builder = FieldsBuilder()
        builder.copy(self)
        try builder.finish().encode(to: encoder)
    }
}

extension FieldValue: Codable {
    private enum CodingKeys: String, CodingKey { case type, value }

    /// Reads `type` and `value`.
    ///
    /// `type` is the name in CloudKit Web Services. `value` has the bytes of the value in a record,
    /// in base64url without padding.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let type = try container.decode(FieldType.self, forKey: .type)
        let bytes = try container.decode(CodedBytes.self, forKey: .value).bytes
        guard let value = FieldValue(decoding: bytes.span.bytes, as: type) else {
            throw DecodingError.dataCorruptedError(
                forKey: .value,
                in: container,
                debugDescription: "The bytes are not those of a \(type.webName)."
            )
        }
        self = value
    }

    /// Writes `type` and `value`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(type, forKey: .type)
        try container.encode(CodedBytes(encoded), forKey: .value)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not a list of schema changes.
public struct SchemaBytesError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where in the bytes, counted from the first one looked at.
    public let offset: Int
    /// What was expected there, and what was found.
    public let message: String

    /// The message and the place.
    public var description: String { "\(message) (at byte \(offset))" }
}

extension [SchemaChange] {
    /// The version that this program writes, and the only one it reads.
    package static var formatVersion: UInt8 { 1 }

    /// The changes as bytes (Docs/formats/schema.md).
    ///
    /// Equal lists have equal bytes.
    package var encoded: [UInt8] {
        var writer = SchemaByteWriter(bytes: [Self.formatVersion])
        writer.append(count)
        for change in self { writer.append(change) }
        return writer.bytes
    }

    /// Reads changes from untrusted bytes.
    ///
    /// Everything is checked: bytes that are read are those that would be written. O(bytes).
    package init(encoded bytes: ArraySlice<UInt8>) throws(SchemaBytesError) {
        var reader = SchemaByteReader(bytes)
        let version = try reader.byte("the version")
        guard version == Self.formatVersion else {
            throw reader.failure(
                "Expected schema changes of version \(Self.formatVersion), found \(version); use a "
                    + "newer program."
            )
        }
        let count = try reader.count("changes")
        var changes: [SchemaChange] = []
        for _ in 0..<count { changes.append(try reader.change()) }
        try reader.finish()
        self = changes
    }
}

/// What a change's first byte says.
///
/// Never renumber: they are on disk.
private enum ChangeKind: UInt8 {
    case roleAdded = 1
    case roleRemoved = 2
    case recordTypeAdded = 3
    case recordTypeRemoved = 4
    case fieldAdded = 5
    case fieldRemoved = 6
    case fieldTypeChanged = 7
    case indexesChanged = 8
    case permissionsChanged = 9
}

// MARK: Writing

/// Appends schema changes to bytes.
private struct SchemaByteWriter {
    var bytes: [UInt8]

    mutating func append(_ count: Int) {
        var rest = UInt64(count)
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func append(_ name: Name) {
        append(name.byteCount)
        bytes.append(text: name.string)
    }

    mutating func append(_ field: Schema.Field) {
        append(field.name)
        bytes.append(field.type.byte)
        bytes.append(field.indexes.rawValue)
    }

    mutating func append(_ recordType: Schema.RecordType) {
        append(recordType.name)
        let fields = recordType.fields.filter { !$0.isSystem || !$0.indexes.isEmpty }
        append(fields.count)
        for field in fields { append(field) }
        append(recordType.grants.count)
        for grant in recordType.grants {
            append(grant.name)
            bytes.append(grant.permissions.rawValue)
        }
    }

    mutating func append(_ kind: ChangeKind, _ names: Name...) {
        bytes.append(kind.rawValue)
        for name in names { append(name) }
    }

    mutating func append(_ change: SchemaChange) {
        switch change {
        case .roleAdded(let role): append(.roleAdded, role.name)
        case .roleRemoved(let role): append(.roleRemoved, role.name)
        case .recordTypeAdded(let recordType):
            append(.recordTypeAdded)
            append(recordType)
        case .recordTypeRemoved(let name): append(.recordTypeRemoved, name)
        case .fieldAdded(let recordType, let field):
            append(.fieldAdded, recordType)
            append(field)
        case .fieldRemoved(let recordType, let field): append(.fieldRemoved, recordType, field)
        case .fieldTypeChanged(let recordType, let field, let old, let new):
            append(.fieldTypeChanged, recordType, field)
            bytes += [old.byte, new.byte]
        case .indexesChanged(let recordType, let field, let old, let new):
            append(.indexesChanged, recordType, field)
            bytes += [old.rawValue, new.rawValue]
        case .permissionsChanged(let recordType, let role, let old, let new):
            append(.permissionsChanged, recordType, role.name)
            bytes += [old.rawValue, new.rawValue]
        }
    }
}

// MARK: Reading

/// Reads schema changes from bytes that may be anything.
private struct SchemaByteReader {
    private let bytes: ArraySlice<UInt8>
    private var index: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    func failure(_ message: String) -> SchemaBytesError {
        SchemaBytesError(offset: index - bytes.startIndex, message: message)
    }

    func finish() throws(SchemaBytesError) {
        guard index == bytes.endIndex else {
            throw failure("\(bytes.endIndex - index) bytes are left over after the last change.")
        }
    }

    mutating func byte(_ what: String) throws(SchemaBytesError) -> UInt8 {
        guard index < bytes.endIndex else { throw failure("The bytes end before \(what).") }
        defer { index += 1 }
        return bytes[index]
    }

    /// A number of things, each of which takes at least a byte.
    mutating func count(_ what: String) throws(SchemaBytesError) -> Int {
        var value = 0
        var shift = 0
        while true {
            let next = try byte("the end of the number of \(what)")
            value |= Int(next & 0x7F) << shift
            guard next & 0x80 != 0 else {
                guard next != 0 || shift == 0 else {
                    throw failure("The number of \(what) is not written in its shortest form.")
                }
                break
            }
            shift += 7
            guard shift < 28 else { throw failure("The number of \(what) is too large.") }
        }
        guard value <= bytes.endIndex - index else {
            throw failure(
                "\(value) \(what) are announced, but \(bytes.endIndex - index) bytes are left."
            )
        }
        return value
    }

    mutating func name(_ what: String) throws(SchemaBytesError) -> Name {
        let count = try count("bytes of \(what)")
        guard count > 0 else { throw failure("The name of \(what) is empty.") }
        let slice = bytes[index..<index + count]
        guard slice.withUnsafeBufferPointer(UTF8Text.isValid) else {
            throw failure("The name of \(what) is not UTF-8.")
        }
        index += count
        return Name(String(decoding: slice, as: UTF8.self))
    }

    mutating func type() throws(SchemaBytesError) -> Schema.DeclaredType {
        let raw = try byte("a field's type")
        guard let type = Schema.DeclaredType(byte: raw) else {
            throw failure("There is no field type \(raw).")
        }
        return type
    }

    mutating func indexes() throws(SchemaBytesError) -> Schema.Indexes {
        let indexes = Schema.Indexes(rawValue: try byte("a field's indexes"))
        guard indexes.isSubset(of: .all) else {
            throw failure("There are no indexes \(indexes.rawValue).")
        }
        return indexes
    }

    mutating func permissions() throws(SchemaBytesError) -> Schema.Permissions {
        let permissions = Schema.Permissions(rawValue: try byte("a role's permissions"))
        guard permissions.isSubset(of: .all) else {
            throw failure("There are no permissions \(permissions.rawValue).")
        }
        return permissions
    }

    mutating func field() throws(SchemaBytesError) -> Schema.Field {
        let field = Schema.Field(try name("a field"), try type(), try indexes())
        guard field == field.withSystemType else {
            throw failure("The system field \(field.name) cannot be \(field.type).")
        }
        return field
    }

    mutating func recordType() throws(SchemaBytesError) -> Schema.RecordType {
        let name = try name("a record type")
        var fields: [Schema.Field] = []
        for _ in 0..<(try count("fields")) {
            let field = try field()
            guard !field.isSystem || !field.indexes.isEmpty else {
                throw failure("The system field \(field.name) stands here without an index.")
            }
            guard fields.last.map({ $0.name < field.name }) ?? true else {
                throw failure("The field \(field.name) does not follow the one before it.")
            }
            fields.append(field)
        }
        var grants: [Schema.Grant] = []
        for _ in 0..<(try count("grants")) {
            let role = Schema.Role(try self.name("a role"))
            let grant = Schema.Grant(try permissions(), to: role)
            guard !grant.permissions.isEmpty else {
                throw failure("The role \(role) is granted nothing.")
            }
            guard grants.last.map({ $0.name < grant.name }) ?? true else {
                throw failure("The role \(role) does not follow the one before it.")
            }
            grants.append(grant)
        }
        return Schema.RecordType(name, fields: fields, grants: grants)
    }

    mutating func change() throws(SchemaBytesError) -> SchemaChange {
        let raw = try byte("a change")
        guard let kind = ChangeKind(rawValue: raw) else {
            throw failure("There is no schema change of kind \(raw); use a newer program.")
        }
        switch kind {
        case .roleAdded: return .roleAdded(Schema.Role(try name("a role")))
        case .roleRemoved: return .roleRemoved(Schema.Role(try name("a role")))
        case .recordTypeAdded: return .recordTypeAdded(try recordType())
        case .recordTypeRemoved: return .recordTypeRemoved(try name("a record type"))
        case .fieldAdded: return .fieldAdded(try name("a record type"), try field())
        case .fieldRemoved: return .fieldRemoved(try name("a record type"), try name("a field"))
        case .fieldTypeChanged:
            let (recordType, field) = (try name("a record type"), try name("a field"))
            return .fieldTypeChanged(recordType, field, from: try type(), to: try type())
        case .indexesChanged:
            let (recordType, field) = (try name("a record type"), try name("a field"))
            return .indexesChanged(recordType, field, from: try indexes(), to: try indexes())
        case .permissionsChanged:
            let (recordType, role) = (try name("a record type"), try name("a role"))
            let (old, new) = (try permissions(), try permissions())
            return .permissionsChanged(recordType, Schema.Role(role), from: old, to: new)
        }
    }
}

extension Schema.DeclaredType {
    /// The bit of a type that a client encrypts.
    private static let encryptedBit: UInt8 = 0x80
    /// What stands for numbers that are not settled; lists of them have 16 more.
    private static let numberByte: UInt8 = 0x40

    /// The type as a byte.
    fileprivate var byte: UInt8 {
        switch self {
        case .plain(let type): type.rawValue
        case .encrypted(let type): type.rawValue | Self.encryptedBit
        case .number: Self.numberByte
        case .numberList: Self.numberByte | 16
        }
    }

    /// The type of a byte; `nil` if there is none.
    fileprivate init?(byte: UInt8) {
        switch byte {
        case Self.numberByte: self = .number
        case Self.numberByte | 16: self = .numberList
        default:
            guard let type = FieldType(rawValue: byte & ~Self.encryptedBit) else { return nil }
            if byte & Self.encryptedBit == 0 {
                self = .plain(type)
            } else {
                guard Self.canEncrypt(type) else { return nil }
                self = .encrypted(type)
            }
        }
    }
}

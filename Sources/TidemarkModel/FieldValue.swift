// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The value of one field, decoded.
///
/// Two values are equal if their bytes in a record's body are: strings are not compared by Unicode
/// equivalence, and minus zero is not zero.
public enum FieldValue: Sendable {
    /// Text.
    case string(String)
    /// A whole number.
    case int64(Int64)
    /// A finite number.
    case double(Double)
    /// Bytes.
    case bytes([UInt8])
    /// Milliseconds since 1970.
    case timestamp(Int64)
    /// A place on Earth.
    case location(Location)
    /// Another record.
    case reference(Reference)
    /// A blob.
    case asset(AssetReference)
    /// Texts.
    case stringList([String])
    /// Whole numbers.
    case int64List([Int64])
    /// Finite numbers.
    case doubleList([Double])
    /// Several byte strings.
    case bytesList([[UInt8]])
    /// Times in milliseconds since 1970.
    case timestampList([Int64])
    /// Places.
    case locationList([Location])
    /// Other records.
    case referenceList([Reference])
    /// Blobs.
    case assetList([AssetReference])

    /// The value's type.
    public var type: FieldType {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .bytes: .bytes
        case .timestamp: .timestamp
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .stringList: .stringList
        case .int64List: .int64List
        case .doubleList: .doubleList
        case .bytesList: .bytesList
        case .timestampList: .timestampList
        case .locationList: .locationList
        case .referenceList: .referenceList
        case .assetList: .assetList
        }
    }
}

extension FieldValue: Hashable {
    /// Returns true if two values have the same type and the same bytes.
    public static func == (lhs: FieldValue, rhs: FieldValue) -> Bool {
        // The bytes of an INT64 and of a TIMESTAMP can be the same, so the types are compared too.
        guard lhs.type == rhs.type else { return false }
        return lhs.encoded == rhs.encoded
    }

    /// Hashes the type and the bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(encoded)
    }
}

extension FieldValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
    /// Creates a string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// Creates an integer.
    public init(integerLiteral value: Int64) {
        self = .int64(value)
    }

    /// Creates a floating-point number.
    public init(floatLiteral value: Double) {
        self = .double(value)
    }

    /// One or zero: CloudKit has no truth values.
    public init(booleanLiteral value: Bool) {
        self = .int64(value ? 1 : 0)
    }
}

/// A place on Earth, with the attributes of Core Location's fix.
public struct Location: Hashable, Codable, Sendable {
    /// Degrees north, -90 to 90.
    public var latitude: Double
    /// Degrees east, -180 to 180.
    public var longitude: Double
    /// The accuracy in metres; negative if the place is not valid.
    public var horizontalAccuracy: Double?
    /// The accuracy in metres; negative if the altitude is not valid.
    public var verticalAccuracy: Double?
    /// Metres above sea level.
    public var altitude: Double?
    /// Metres per second.
    public var speed: Double?
    /// Degrees clockwise from north.
    public var course: Double?
    /// The time of the measurement, in milliseconds since 1970.
    public var timestamp: Int64?

    /// Creates a place.
    ///
    /// Only the coordinates are needed.
    public init(
        latitude: Double,
        longitude: Double,
        horizontalAccuracy: Double? = nil,
        verticalAccuracy: Double? = nil,
        altitude: Double? = nil,
        speed: Double? = nil,
        course: Double? = nil,
        timestamp: Int64? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.altitude = altitude
        self.speed = speed
        self.course = course
        self.timestamp = timestamp
    }
}

/// A link from one record to another.
public struct Reference: Hashable, Sendable {
    /// The effect of deleting the target on the record that holds the link.
    ///
    /// Raw values are on disk.
    public enum Action: UInt8, Hashable, CaseIterable, Sendable {
        /// No effect; the target may be gone.
        case none = 0
        /// The record is deleted with its target.
        case deleteSelf = 1
        /// The target must exist, and cannot be deleted while the link does.
        case validate = 2

        /// The name in CloudKit Web Services.
        public var webName: String {
            switch self {
            case .none: "NONE"
            case .deleteSelf: "DELETE_SELF"
            case .validate: "VALIDATE"
            }
        }
    }

    package let name: Name
    /// The target's zone; `nil` is the zone of the record that holds the link.
    ///
    /// A target is always in that zone.
    public let zone: ZoneID?
    /// The effect of deleting the target on the record that holds the link.
    public let action: Action

    /// Links to a record.
    public init(recordName: String, zone: ZoneID? = nil, action: Action = .none) {
        name = Name(recordName)
        self.zone = zone
        self.action = action
    }

    /// The target's name.
    public var recordName: String { name.string }
}

/// A reference to a blob: its bytes are stored apart from the log, named by their checksum.
public struct AssetReference: Hashable, Codable, Sendable {
    /// The SHA-256 of the blob: 32 bytes.
    public var checksum: [UInt8]
    /// The blob's size.
    public var byteCount: UInt64
    /// CloudKit's second checksum, kept as the client sent it.
    public var referenceChecksum: [UInt8]?
    /// CloudKit's key for the blob, kept as the client sent it.
    public var wrappingKey: [UInt8]?

    /// Creates a blob.
    public init(
        checksum: [UInt8],
        byteCount: UInt64,
        referenceChecksum: [UInt8]? = nil,
        wrappingKey: [UInt8]? = nil
    ) {
        self.checksum = checksum
        self.byteCount = byteCount
        self.referenceChecksum = referenceChecksum
        self.wrappingKey = wrappingKey
    }
}

extension FieldValue {
    /// The assets in the value.
    package var assets: [AssetReference] {
        switch self {
        case .asset(let asset): [asset]
        case .assetList(let assets): assets
        default: []
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The types that a field's value can have.
///
/// Raw values are on disk: never renumber them. A list type is its element's type plus 16; zero
/// marks a removed field and is not a type.
public enum FieldType: UInt8, Hashable, CaseIterable, Codable, Sendable {
    /// Text.
    case string = 1
    /// A whole number of 64 bits.
    case int64 = 2
    /// A finite binary floating-point number of 64 bits.
    case double = 3
    /// Bytes.
    case bytes = 4
    /// Milliseconds since 1970.
    case timestamp = 5
    /// A place on Earth.
    case location = 6
    /// Another record.
    case reference = 7
    /// A blob, named by its checksum.
    case asset = 8
    /// Texts.
    case stringList = 17
    /// Whole numbers.
    case int64List = 18
    /// Floating-point numbers.
    case doubleList = 19
    /// Several byte strings.
    case bytesList = 20
    /// Times.
    case timestampList = 21
    /// Places.
    case locationList = 22
    /// Other records.
    case referenceList = 23
    /// Blobs.
    case assetList = 24

    /// The type of a list's elements; `nil` if this is not a list.
    public var element: FieldType? {
        rawValue > 16 ? FieldType(rawValue: rawValue - 16) : nil
    }

    /// The type of lists of this type; `nil` if this is a list.
    package var listType: FieldType? {
        rawValue < 16 ? FieldType(rawValue: rawValue + 16) : nil
    }

    /// The type in CloudKit Web Services, such as `STRING` or `INT64_LIST`.
    public var webName: String {
        switch self {
        case .string: "STRING"
        case .int64: "INT64"
        case .double: "DOUBLE"
        case .bytes: "BYTES"
        case .timestamp: "TIMESTAMP"
        case .location: "LOCATION"
        case .reference: "REFERENCE"
        case .asset: "ASSETID"
        case .stringList: "STRING_LIST"
        case .int64List: "INT64_LIST"
        case .doubleList: "DOUBLE_LIST"
        case .bytesList: "BYTES_LIST"
        case .timestampList: "TIMESTAMP_LIST"
        case .locationList: "LOCATION_LIST"
        case .referenceList: "REFERENCE_LIST"
        case .assetList: "ASSETID_LIST"
        }
    }

    /// Reads a type of CloudKit Web Services; `ASSET` and `ASSET_LIST` are understood too.
    public init?(webName: String) {
        switch webName {
        case "ASSET": self = .asset
        case "ASSET_LIST": self = .assetList
        default:
            let name = Name(webName)
            guard let type = Self.allCases.first(where: { Name($0.webName) == name }) else {
                return nil
            }
            self = type
        }
    }
}

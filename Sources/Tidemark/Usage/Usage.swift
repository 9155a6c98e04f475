// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The space used by live records.
///
/// A record counts the bytes of its body: name, fields, creator, modifier and times. An asset
/// counts once for every record that names it.
public struct Usage: Hashable, Codable, Sendable {
    /// The number of records.
    public var recordCount = 0
    /// Bytes of their bodies.
    public var recordByteCount = 0
    /// Bytes of the assets that they name.
    public var assetByteCount = 0

    /// Creates a usage of zero.
    public init() {}

    /// All bytes together, which a quota limits.
    public var byteCount: Int { recordByteCount.clampedSum(assetByteCount) }

    /// Adds another usage.
    public static func += (sum: inout Usage, other: Usage) {
        sum.recordCount += other.recordCount
        sum.recordByteCount = sum.recordByteCount.clampedSum(other.recordByteCount)
        sum.assetByteCount = sum.assetByteCount.clampedSum(other.assetByteCount)
    }

    /// Counts a record.
    mutating func add(_ body: RecordBody) {
        recordCount += 1
        recordByteCount += body.bytes.count
        if body.fields.namesAssets {
            assetByteCount = assetByteCount.clampedSum(body.assetByteCount)
        }
    }
}

/// The space used by a database, zone by zone.
///
/// A private database counts against its user, including what other users write into a share; a
/// public one counts against the container.
public struct DatabaseUsage: Hashable, Codable, Sendable {
    /// The usage of a zone.
    public struct Zone: Hashable, Codable, Sendable {
        /// The zone.
        public let zone: ZoneID
        /// The usage.
        public let usage: Usage
    }

    /// The database.
    public let database: DatabaseID
    /// Its zones in the order of their names' bytes.
    public internal(set) var zones: [Zone] = []

    /// All zones together.
    public var total: Usage { zones.reduce(into: Usage()) { $0 += $1.usage } }

    init(_ database: DatabaseID) {
        self.database = database
    }
}

extension RecordBody {
    /// Bytes of the assets that the fields name.
    var assetByteCount: Int {
        fields.assets.reduce(0) { $0.clampedSum(Int(clamping: $1.byteCount)) }
    }

    /// The bytes that the record counts in a quota.
    var countedByteCount: Int {
        bytes.count.clampedSum(fields.namesAssets ? assetByteCount : 0)
    }
}

extension Int {
    /// The sum, or the largest or smallest number there is: an import takes any size that a line claims
    /// for an asset.
    func clampedSum(_ other: Int) -> Int {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other > 0 ? .max : .min) : sum
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// What live records take up.
///
/// Records count with the bytes of their bodies: names, fields, who saved them and when. An asset
/// counts with every record that names it.
public struct Usage: Hashable, Codable, Sendable {
    /// How many records there are.
    public var recordCount = 0
    /// Bytes of their bodies.
    public var recordByteCount = 0
    /// Bytes of the assets that they name.
    public var assetByteCount = 0

    /// Nothing.
    public init() {}

    /// All bytes together: what a quota is about.
    public var byteCount: Int { recordByteCount.clampedSum(assetByteCount) }

    /// Adds what another has.
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

/// What a database takes up, zone by zone.
///
/// What is in a private database counts against its user, also what others write into a share;
/// what is in the public one against the container.
public struct DatabaseUsage: Hashable, Codable, Sendable {
    /// What a zone takes up.
    public struct Zone: Hashable, Codable, Sendable {
        /// The zone.
        public let zone: ZoneID
        /// What is in it.
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

    /// What the record counts for in a quota.
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

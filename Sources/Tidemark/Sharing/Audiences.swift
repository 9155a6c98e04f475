// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog
package import TidemarkModel
package import TidemarkViews

/// Which audience a record has, or will have once a commit is there.
package enum AudienceRef: Hashable, Sendable {
    /// None: the record is under no share.
    case none
    /// That of a share that is there, by its key.
    case known(UInt64)
    /// That of a share which the commit begins, by the place of the share's record.
    case new(RecordPlace)
}

/// What a picture says about audiences.
package struct Audiences {
    private let picture: ViewPicture
    private var living: [UInt64: Bool] = [:]

    package init(_ picture: ViewPicture) {
        self.picture = picture
    }

    /// The audience of a record, by zone and slot.
    ///
    /// One look-up.
    package mutating func audience(of record: ViewKey) throws(SyncError) -> AudienceRef {
        try SyncError.wrapping { () throws(ViewIndexError) in
            guard let key = try picture.audience(of: record), try isLiving(key) else {
                return .none
            }
            return .known(key)
        }
    }

    /// Whether the share of an audience is still there.
    private mutating func isLiving(_ key: UInt64) throws(ViewIndexError) -> Bool {
        if let known = living[key] { return known }
        let isLiving = try picture.zone(key).end == nil
        living[key] = isLiving
        return isLiving
    }

    /// The list of what a share of a zone shows; its place where there is none.
    package func search(
        forShare token: String,
        in zone: ZoneIdentity
    ) throws(SyncError) -> ZoneSearch {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.search(for: zone.audience(ofShare: token))
        }
    }

    /// The key of a share's audience; `nil` if the share is not there, or of a whole zone.
    package func key(ofShare token: String, in zone: ZoneIdentity) throws(SyncError) -> UInt64? {
        let standing = try search(forShare: token, in: zone).standing
        return standing?.end == nil ? standing?.key : nil
    }

    /// The keys of all audiences of a zone.
    ///
    /// O(shares of the zone's owner).
    package func keys(in zone: ZoneIdentity) throws(SyncError) -> [UInt64] {
        let prefix = zone.zoneName.string + "\0"
        return try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.zones(
                of: zone.audience(ofShare: "").database,
                after: 0,
                limit: .max
            ).filter { standing in
                standing.end == nil
                    && standing.identity.zoneName.string.utf8.starts(with: prefix.utf8)
            }.map(\.key)
        }
    }

    /// Where a record is in an audience.
    package func place(of slot: UInt64, in key: UInt64) throws(SyncError) -> AudiencePlace {
        try SyncError.wrapping { () throws(ViewIndexError) in
            let version = try picture.version(at: ViewKey(key, slot))
            return AudiencePlace(
                key: key,
                previous: version?.sequence.rawValue ?? 0,
                previousState: version?.state
            )
        }
    }
}

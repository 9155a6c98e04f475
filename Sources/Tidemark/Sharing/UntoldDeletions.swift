// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// Decides which removals in audiences are not reported: the participant never saw the record
/// there, or another share shows it.
///
/// The audience of the other share reports the record, on this page or a later one. If both were
/// reported, a device would drop the record and fetch it again.
struct UntoldDeletions {
    private var stays: SharedMemberships
    private let zone: ZoneKey
    /// The audiences that the participant sees; `nil` if there is only one.
    private let access: ZoneAccess?
    private let picture: ViewPicture

    /// Decides about the audiences of a zone.
    init(_ stays: SharedMemberships, zone: ZoneKey, access: ZoneAccess?, _ picture: ViewPicture) {
        self.stays = stays
        self.zone = zone
        self.access = access
        self.picture = picture
    }

    /// Returns the positions of such entries among some of an audience; with `isLeaving` all of the
    /// audience is removed.
    ///
    /// A lookup for each deletion, if there is more than one audience; else the cost of
    /// ``SharedMemberships/unseen(among:in:isLeaving:)``.
    mutating func positions(
        among versions: some Sequence<RecordVersion>,
        in audience: ZoneKey,
        isLeaving: Bool
    ) throws(SyncError) -> Set<SequenceNumber> {
        var unsaid = try stays.unseen(among: versions, in: audience, isLeaving: isLeaving)
        guard let access else { return unsaid }
        try SyncError.wrapping { () throws(ViewIndexError) in
            for version in versions where isLeaving || version.state == .tombstone {
                let record = ViewKey(zone: zone, slot: version.slot)
                // This audience has removed the record, or the caller has left it. An audience of
                // the record in `access` is therefore another one.
                let isShown =
                    access.showsAll
                    ? try picture.version(at: record)?.state == .live
                    : try picture.audience(of: record).map {
                        access.participations[$0] != nil
                    } ?? false
                if isShown { unsaid.insert(version.sequence) }
            }
        }
        return unsaid
    }
}

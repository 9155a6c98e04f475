// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// Decides which removals in shares' lists are not reported: the participant never saw the record
/// there, or another share shows it.
///
/// The list of the other share reports the record, on this page or a later one. If both were
/// reported, a device would drop the record and fetch it again.
struct UntoldDeletions {
    private var stays: SharedMemberships
    private let zone: ZoneKey
    /// The parts of the zone that the participant sees; `nil` if there is only one list.
    private let access: ZoneAccess?
    private let picture: ViewPicture

    /// Decides about the lists of a zone's shares.
    init(_ stays: SharedMemberships, zone: ZoneKey, access: ZoneAccess?, _ picture: ViewPicture) {
        self.stays = stays
        self.zone = zone
        self.access = access
        self.picture = picture
    }

    /// Returns the positions of such entries among some of a list; with `isLeaving` all of the list
    /// is removed.
    ///
    /// A lookup for each deletion, if there is more than one list; else the cost of
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
                // This list has removed the record, or the caller has left the list. An audience of
                // the record in `parts` is therefore another one.
                let isShown =
                    access.showsAll
                    ? try picture.version(at: record)?.state == .live
                    : try picture.audience(of: record).map { access.parts[$0] != nil } ?? false
                if isShown { unsaid.insert(version.sequence) }
            }
        }
        return unsaid
    }
}

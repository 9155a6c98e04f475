// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

extension Engine {
    /// The live record of a system zone with a name; `nil` if there is none.
    ///
    /// Two look-ups in the views and the reading of one event, however many records there are.
    func record(
        named name: Name,
        of zone: SystemZone,
        in database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> StoredRecord? {
        var zones = ConsultedZones(includesSystem: true)
        let index = try zones.index(
            of: zone.zone,
            in: zone.home(for: database),
            creating: .every,
            picture,
            options.limits
        )
        let item = ConsultedItem(name: name, zone: index, slot: views.hash.slot(ofName: name))
        return try ConsultedItems([item], in: zones, picture, views).items[0].live
    }
}

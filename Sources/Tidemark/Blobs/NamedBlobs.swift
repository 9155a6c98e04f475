// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
import TidemarkModel

/// Reads out of the log's events which blobs they name, one event after another in the log's order.
package struct NamedBlobs: Sendable {
    /// The database that holds the assets of each zone's records, by the zone's key.
    private var holders: [ZoneKey: BlobHolder] = [:]

    /// Begins before the log's first event.
    package init() {}

    /// An asset as an event names it.
    package struct Naming: Sendable {
        /// The blob, in the record's database.
        package var blob: HeldBlob
        /// The size stated by the record.
        package var byteCount: UInt64
        /// The record's name.
        package var recordName: String
    }

    /// The assets that an event names.
    ///
    /// An event of a zone whose creation was not among those before names none.
    package mutating func assets(of event: LogEvent) throws(EventFormatError) -> [Naming] {
        let bytes = event.payload
        let payload = bytes.span.bytes
        switch EventKind(of: payload) {
        case .zoneCreated:
            let database = try ZoneEvent.readCreation(payload).identity.database
            holders[ZoneKey(createdAt: event.sequence)] = BlobHolder(database)
            return []
        // A touch repeats the fields of the version before it, so it names that version's assets
        // too.
        case .recordSaved, .recordTouched:
            guard let holder = holders[event.zone] else { return [] }
            let stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
            let body = try stored.body()
            guard body.fields.namesAssets else { return [] }
            return body.fields.assets.map { asset in
                Naming(
                    blob: HeldBlob(asset.blob, of: holder),
                    byteCount: asset.byteCount,
                    recordName: body.recordName
                )
            }
        default:
            return []
        }
    }
}

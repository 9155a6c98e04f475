// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog

extension CompactionRun {
    private static let storedVersion: UInt8 = 1

    /// The value under ``ViewKey/compaction`` in the view index.
    package var stored: ViewValue {
        var bytes: [UInt8] = [Self.storedVersion, 0, 0, 0]
        for position in [history, tombstones, requests] { bytes.append(integer: position.rawValue) }
        return .bytes(bytes)
    }

    /// Reads the bytes that `stored` returned.
    package init(_ value: ViewValue) throws(ViewIndexError) {
        guard case .bytes(let bytes) = value, bytes.count == Self.byteCount,
            bytes[0] == Self.storedVersion
        else {
            throw ViewIndexError(
                .damaged,
                "The view index's entry about compaction is not of the expected form; the index is "
                    + "discarded and rebuilt from the log."
            )
        }
        let span = bytes.span.bytes
        self.init(
            history: span.sequence(at: 4),
            tombstones: span.sequence(at: 12),
            requests: span.sequence(at: 20)
        )
    }
}

extension ViewKey {
    /// The key in the table `zones` of the last compaction's limits.
    ///
    /// No zone has this key: the first event creates zone 1.
    package static let compaction = ViewKey(0, 0)
    /// The first possible key of a zone in the table `zones`.
    package static let firstZone = ViewKey(1, 0)
}

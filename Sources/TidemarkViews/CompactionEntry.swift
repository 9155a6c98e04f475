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

    /// Reads what `stored` made.
    package init(_ value: ViewValue) throws(ViewIndexError) {
        guard case .bytes(let bytes) = value, bytes.count == Self.byteCount,
            bytes[0] == Self.storedVersion
        else {
            throw ViewIndexError(
                .damaged,
                "The view index's entry about compaction is not of the expected form; the index "
                    + "is thrown away and rebuilt from the log."
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
    /// Where the table `zones` keeps what the last compaction forgot.
    ///
    /// No zone has this key: the first event makes zone 1.
    package static let compaction = ViewKey(0, 0)
    /// Where the zones in the table `zones` begin.
    package static let firstZone = ViewKey(1, 0)
}

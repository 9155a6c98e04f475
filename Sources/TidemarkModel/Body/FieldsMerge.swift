// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What the fields of a save mean for those it does not name.
package enum SaveExtent: Sendable {
    /// Fields that are not named stay as they are.
    case changedFields
    /// Fields that are not named are removed.
    case wholeRecord
}

extension Fields {
    /// Appends the fields of a new version, with their stamps (Docs/formats/record.md, "Stamps").
    ///
    /// `old` are the fields of the version it replaces, written by the event `oldSequence`;
    /// without one, nothing was there. `self` are those that the client set and removed.
    /// O(fields), without allocating beyond `bytes`.
    package func merge(
        into old: Fields?,
        of oldSequence: UInt64,
        extent: SaveExtent,
        appendingTo bytes: inout [UInt8]
    ) {
        guard let old else { return appendLive(to: &bytes) }
        let mine = self.bytes.span.bytes
        let theirs = old.bytes.span.bytes
        var rows = 0
        walk(mine, theirs, oldSequence, extent) { _ in rows += 1 }
        bytes.append(littleEndian: UInt16(truncatingIfNeeded: rows))
        var end = 0
        walk(mine, theirs, oldSequence, extent) { outcome in
            let entry = outcome.entry
            let valueByteCount = outcome.isRemoval ? 0 : entry.valueRange.count
            end +=
                entry.nameByteCount + FieldEntry.stampByteCount(of: outcome.stamp) + valueByteCount
            FieldEntry.appendRow(
                end: end,
                nameByteCount: entry.nameByteCount,
                type: outcome.isRemoval ? FieldEntry.removed : entry.type,
                flags: outcome.isRemoval ? 0 : entry.flags,
                stamp: outcome.stamp,
                to: &bytes
            )
        }
        walk(mine, theirs, oldSequence, extent) { outcome in
            let source = outcome.isMine ? self.bytes : old.bytes
            bytes.append(
                contentsOf: source.dropFirst(outcome.entry.start).prefix(
                    outcome.entry.nameByteCount
                )
            )
            FieldEntry.appendStamp(outcome.stamp, to: &bytes)
            if outcome.isRemoval { return }
            bytes.append(
                contentsOf: source.dropFirst(outcome.entry.valueRange.lowerBound).prefix(
                    outcome.entry.valueRange.count
                )
            )
        }
    }

    /// One field of the new version.
    private struct Outcome {
        var entry: FieldEntry
        var isMine: Bool
        var isRemoval: Bool
        var stamp: UInt64
    }

    /// Visits the fields of the new version in order.
    private func walk(
        _ mine: RawSpan,
        _ theirs: RawSpan,
        _ oldSequence: UInt64,
        _ extent: SaveExtent,
        _ visit: (Outcome) -> Void
    ) {
        let mineCount = mine.word16(at: 0)
        let theirsCount = theirs.word16(at: 0)
        var left = 0
        var right = 0
        while left < mineCount || right < theirsCount {
            let set = left < mineCount ? FieldEntry(at: left, in: mine) : nil
            let kept = right < theirsCount ? FieldEntry(at: right, in: theirs) : nil
            let order = Self.order(set, in: mine, kept, in: theirs)
            if order <= 0 { left += 1 }
            if order >= 0 { right += 1 }
            if order < 0, let set {
                if set.type == FieldEntry.removed { continue }
                visit(Outcome(entry: set, isMine: true, isRemoval: false, stamp: 0))
            } else if let kept {
                let before = kept.stamp(in: theirs)
                let carried = before == 0 ? oldSequence : before
                let wasRemoved = kept.type == FieldEntry.removed
                var outcome = Outcome(
                    entry: kept,
                    isMine: false,
                    isRemoval: wasRemoved,
                    stamp: carried
                )
                if order == 0, let set {
                    let removes = set.type == FieldEntry.removed
                    let isSame =
                        removes ? wasRemoved : set.hasSameValue(in: mine, as: kept, in: theirs)
                    let keepsStamp = isSame && (removes || extent == .wholeRecord)
                    if !keepsStamp {
                        outcome = Outcome(entry: set, isMine: true, isRemoval: removes, stamp: 0)
                    }
                } else if extent == .wholeRecord, !wasRemoved {
                    outcome.isRemoval = true
                    outcome.stamp = 0
                }
                visit(outcome)
            }
        }
    }

    /// Which of two fields comes first by name: below zero the first, above zero the second.
    private static func order(
        _ first: FieldEntry?,
        in firstBytes: RawSpan,
        _ second: FieldEntry?,
        in secondBytes: RawSpan
    ) -> Int {
        guard let first else { return 1 }
        guard let second else { return -1 }
        return secondBytes.extracting(second.nameRange).withUnsafeBytes { name in
            first.compareName(to: name, in: firstBytes)
        }
    }

    /// Appends the fields that are set, as those of a record's first version.
    private func appendLive(to bytes: inout [UInt8]) {
        let span = self.bytes.span.bytes
        var removals = 0
        for index in 0..<count where FieldEntry(at: index, in: span).type == FieldEntry.removed {
            removals += 1
        }
        guard removals > 0 else {
            bytes.append(contentsOf: self.bytes)
            return
        }
        bytes.append(littleEndian: UInt16(truncatingIfNeeded: count - removals))
        var end = 0
        for index in 0..<count {
            let entry = FieldEntry(at: index, in: span)
            if entry.type == FieldEntry.removed { continue }
            end += entry.end - entry.start
            FieldEntry.appendRow(
                end: end,
                nameByteCount: entry.nameByteCount,
                type: entry.type,
                flags: entry.flags,
                stamp: 0,
                to: &bytes
            )
        }
        for field in self where !field.isRemoved {
            bytes.append(contentsOf: field.nameBytes)
            bytes.append(contentsOf: field.valueBytes)
        }
    }
}

extension FieldEntry {
    /// Whether two fields have the same type, flags and value.
    fileprivate func hasSameValue(
        in bytes: RawSpan,
        as other: FieldEntry,
        in otherBytes: RawSpan
    ) -> Bool {
        guard type == other.type, flags == other.flags,
            valueRange.count == other.valueRange.count
        else { return false }
        return bytes.extracting(valueRange).withUnsafeBytes { left in
            otherBytes.extracting(other.valueRange).withUnsafeBytes { right in
                left.elementsEqual(right)
            }
        }
    }
}

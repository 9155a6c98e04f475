// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The effect of a save on the fields that it does not name.
package enum SaveExtent: Sendable {
    /// Fields that are not named stay unchanged.
    case changedFields
    /// Fields that are not named are removed.
    case wholeRecord
}

extension Fields {
    /// Appends the fields of a new version, with their stamps (Docs/formats/record.md, "Stamps").
    ///
    /// `old` are the fields of the version that it replaces, written by the event `oldSequence`;
    /// without `old`, the record is new. `self` are the fields that the client set and removed.
    /// O(bytes), without heap allocations beyond `bytes`.
    package func merge(
        into old: Fields?,
        of oldSequence: UInt64,
        extent: SaveExtent,
        appendingTo bytes: inout [UInt8]
    ) {
        guard let old else { return appendLive(to: &bytes) }
        // Every field of either side has at most one outcome.
        let capacity = count + old.count
        // The number of rows must be known before the first row is written, so the outcomes are
        // collected. `Outcome` is trivial: nothing has to be deinitialized.
        withUnsafeTemporaryAllocation(of: Outcome.self, capacity: capacity) { outcomes in
            var rows = 0
            walk(self.bytes.span.bytes, old.bytes.span.bytes, oldSequence, extent) { outcome in
                outcomes.initializeElement(at: rows, to: outcome)
                rows += 1
            }
            let kept = Self.dropOldRemovals(UnsafeMutableBufferPointer(rebasing: outcomes[..<rows]))
            write(UnsafeBufferPointer(rebasing: outcomes[..<kept]), old, to: &bytes)
        }
    }

    /// The maximum number of removals in a record: those of the latest events.
    package static let keptRemovalCount = 255

    /// Moves the outcomes that stay to the front, and returns their number.
    ///
    /// All of them stay, unless there are more removals than a record keeps.
    private static func dropOldRemovals(_ outcomes: UnsafeMutableBufferPointer<Outcome>) -> Int {
        // The event that is being encoded is the latest, whatever number it will get.
        func age(_ outcome: Outcome) -> UInt64 { .max - (outcome.stamp &- 1) }
        // Counted first, because the list is only needed in one merge of a million.
        let removalCount = outcomes.reduce(0) { $0 + ($1.isRemoval ? 1 : 0) }
        guard removalCount > keptRemovalCount else { return outcomes.count }
        let removals = outcomes.indices.filter { outcomes[$0].isRemoval }
        // Of one event, the removals that come first by name stay (Docs/formats/record.md,
        // "Stamps"). The indexes are in the order of the names.
        let youngestFirst = removals.sorted {
            (age(outcomes[$0]), $0) < (age(outcomes[$1]), $1)
        }
        let dropped = Set(youngestFirst.dropFirst(keptRemovalCount))
        var kept = 0
        for index in outcomes.indices where !dropped.contains(index) {
            outcomes[kept] = outcomes[index]
            kept += 1
        }
        return kept
    }

    /// Appends the fields that a walk found.
    private func write(
        _ outcomes: UnsafeBufferPointer<Outcome>,
        _ old: Fields,
        to bytes: inout [UInt8]
    ) {
        let tableByteCount = FieldEntry.tableOffset + outcomes.count * FieldEntry.byteCount
        let byteCount = outcomes.reduce(tableByteCount) { $0 + $1.byteCount }
        self.bytes.withUnsafeBytes { mine in
            old.bytes.withUnsafeBytes { theirs in
                // All at once, because an append to an array costs more than a short name or value.
                bytes.append(addingCapacity: byteCount) { added in
                    added.withUnsafeMutableBufferPointer { buffer, addedCount in
                        Self.write(
                            outcomes,
                            mine,
                            theirs,
                            to: UnsafeMutableRawBufferPointer(buffer)
                        )
                        addedCount = byteCount
                    }
                }
            }
        }
    }

    private static func write(
        _ outcomes: UnsafeBufferPointer<Outcome>,
        _ mine: UnsafeRawBufferPointer,
        _ theirs: UnsafeRawBufferPointer,
        to buffer: UnsafeMutableRawBufferPointer
    ) {
        // `Limits.fieldsPerRecord` is such that the combined fields of two versions, and the removals
        // that one keeps, fit 16 bits.
        let count = UInt16(truncatingIfNeeded: outcomes.count)
        buffer.storeBytes(of: count.littleEndian, as: UInt16.self)
        let dataStart = FieldEntry.tableOffset + outcomes.count * FieldEntry.byteCount
        var end = dataStart
        for index in outcomes.indices {
            let outcome = outcomes[index]
            let entry = outcome.entry
            let source = outcome.isMine ? mine : theirs
            func put(_ range: Range<Int>, of source: UnsafeRawBufferPointer) {
                UnsafeMutableRawBufferPointer(rebasing: buffer[end...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[range]))
                end += range.count
            }
            if outcome.keepsBytes {
                put(entry.start..<entry.end, of: source)
            } else {
                put(entry.nameRange, of: source)
                Swift.withUnsafeBytes(of: outcome.stamp.littleEndian) { stamp in
                    put(0..<FieldEntry.stampByteCount(of: outcome.stamp), of: stamp)
                }
                if !outcome.isRemoval { put(entry.valueRange, of: source) }
            }
            let row = FieldEntry.row(
                end: end - dataStart,
                nameByteCount: entry.nameByteCount,
                type: outcome.isRemoval ? FieldEntry.removed : entry.type,
                flags: outcome.isRemoval ? 0 : entry.flags,
                stamp: outcome.stamp
            )
            buffer.storeBytes(
                of: row.littleEndian,
                toByteOffset: FieldEntry.tableOffset + index * FieldEntry.byteCount,
                as: UInt64.self
            )
        }
    }

    /// One field of the new version.
    private struct Outcome {
        var entry: FieldEntry
        var isMine: Bool
        var isRemoval: Bool
        var stamp: UInt64
        /// True if name, stamp and value keep their bytes.
        var keepsBytes: Bool

        /// The bytes of name, stamp and value.
        var byteCount: Int {
            if keepsBytes { return entry.end - entry.start }
            return entry.nameByteCount + FieldEntry.stampByteCount(of: stamp)
                + (isRemoval ? 0 : entry.valueRange.count)
        }

        /// Returns the outcome for a field that the client sets or removes.
        static func set(_ entry: FieldEntry, isRemoval: Bool) -> Outcome {
            Outcome(
                entry: entry,
                isMine: true,
                isRemoval: isRemoval,
                stamp: 0,
                keepsBytes: !isRemoval && entry.stampByteCount == 0
            )
        }

        /// Returns the outcome for a field of the old version that the client does not name.
        @inline(__always)
        static func kept(
            _ entry: FieldEntry,
            in bytes: RawSpan,
            _ oldSequence: UInt64,
            _ extent: SaveExtent
        ) -> Outcome {
            let isRemoved = entry.type == FieldEntry.removed
            if extent == .wholeRecord, !isRemoved {
                return Outcome(
                    entry: entry,
                    isMine: false,
                    isRemoval: true,
                    stamp: 0,
                    keepsBytes: false
                )
            }
            return carried(entry, in: bytes, oldSequence)
        }

        /// Returns the outcome for a field of the old version that the client sets or removes.
        @inline(__always)
        static func replaced(
            _ entry: FieldEntry,
            in bytes: RawSpan,
            by set: FieldEntry,
            in setBytes: RawSpan,
            _ oldSequence: UInt64,
            _ extent: SaveExtent
        ) -> Outcome {
            let removes = set.type == FieldEntry.removed
            // A client that replaces the whole record names every field, so an equal value is no
            // change by that client.
            let keepsStamp =
                removes
                ? entry.type == FieldEntry.removed
                : extent == .wholeRecord && set.hasSameValue(in: setBytes, as: entry, in: bytes)
            return keepsStamp
                ? carried(entry, in: bytes, oldSequence) : .set(set, isRemoval: removes)
        }

        /// Returns the outcome for a field of the old version that stays as it is.
        @inline(__always)
        private static func carried(
            _ entry: FieldEntry,
            in bytes: RawSpan,
            _ oldSequence: UInt64
        ) -> Outcome {
            let before = entry.stamp(in: bytes)
            return Outcome(
                entry: entry,
                isMine: false,
                isRemoval: entry.type == FieldEntry.removed,
                // Stamp 0 stands for the event that holds the body. In a new body it would stand for
                // another event, so it becomes the old event's number.
                stamp: before == 0 ? oldSequence : before,
                // An old field without a stamp gets one between name and value.
                keepsBytes: before != 0
            )
        }
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
        // This and the two functions below are the table of record.md, "Stamps".
        while left < mineCount, right < theirsCount {
            let set = FieldEntry(at: left, in: mine)
            let kept = FieldEntry(at: right, in: theirs)
            // Negative if only the client names the field; positive if only the old version has it.
            let order = theirs.extracting(kept.nameRange).withUnsafeBytes { name in
                set.compareName(to: name, in: mine)
            }
            if order <= 0 { left += 1 }
            if order >= 0 { right += 1 }
            if order > 0 {
                visit(.kept(kept, in: theirs, oldSequence, extent))
            } else if order == 0 {
                visit(.replaced(kept, in: theirs, by: set, in: mine, oldSequence, extent))
            } else if set.type != FieldEntry.removed {
                visit(.set(set, isRemoval: false))
            }
        }
        for index in left..<mineCount {
            let set = FieldEntry(at: index, in: mine)
            // The removal of a field that the old version does not have leaves no trace.
            if set.type != FieldEntry.removed { visit(.set(set, isRemoval: false)) }
        }
        for index in right..<theirsCount {
            visit(.kept(FieldEntry(at: index, in: theirs), in: theirs, oldSequence, extent))
        }
    }

    /// Appends the fields that are set, as the fields of a record's first version.
    private func appendLive(to bytes: inout [UInt8]) {
        // The fields of a request have no stamps, so without removals their bytes are those of a
        // first version.
        guard traits.contains(.removals) else {
            self.bytes.withUnsafeBytes { bytes.append(contentsOf: $0) }
            return
        }
        let span = self.bytes.span.bytes
        let removals = (0..<count).count {
            FieldEntry.type(at: $0, in: span) == FieldEntry.removed
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
            // Nothing stands between name and value, because stamp 0 has no bytes.
            bytes.append(contentsOf: field.nameBytes)
            bytes.append(contentsOf: field.valueBytes)
        }
    }
}

extension FieldEntry {
    /// Returns true if two fields have the same type, flags and value.
    func hasSameValue(
        in bytes: RawSpan,
        as other: FieldEntry,
        in otherBytes: RawSpan
    ) -> Bool {
        guard type == other.type, flags == other.flags,
            valueRange.count == other.valueRange.count
        else { return false }
        return bytes.extracting(valueRange).withUnsafeBytes { left in
            otherBytes.extracting(other.valueRange).withUnsafeBytes { right in
                ByteEquality.areEqual(left, right)
            }
        }
    }
}

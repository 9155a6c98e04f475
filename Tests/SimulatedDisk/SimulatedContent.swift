// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The bytes of one simulated file: as its users see them, as a sync last left them, and every
/// change in between.
struct SimulatedContent: Sendable {
    /// What is written whole or not at all.
    static let sectorByteCount = 512

    /// What a read sees.
    private(set) var live: [UInt8] = []
    /// What is on the medium for certain.
    private(set) var durable: [UInt8] = []
    /// What happened to `live` and may or may not have reached the medium, oldest first.
    private(set) var unsynced: [Change] = []
    /// When it was last written to, in milliseconds since 1970; never lost.
    var modified: Int64

    struct Change: Sendable {
        enum Kind: Sendable {
            case write(offset: Int, bytes: [UInt8])
            /// A truncation below the length.
            case cut(Int)
            /// A longer length, zeros up to it.
            case extend(Int)
        }

        /// Its place among all the changes of the disk.
        let serial: Int
        let kind: Kind
        /// A sync failed after it: later syncs pass over it.
        var isDoubtful = false
    }

    /// A file that is the same live and durable.
    init(durable bytes: [UInt8] = [], modified: Int64) {
        live = bytes
        durable = bytes
        self.modified = modified
    }

    mutating func write(_ bytes: [UInt8], at offset: Int, serial: Int) {
        guard !bytes.isEmpty else { return }
        let kind = Change.Kind.write(offset: offset, bytes: bytes)
        kind.apply(to: &live)
        unsynced.append(Change(serial: serial, kind: kind))
    }

    /// Cuts or extends with zeros.
    mutating func resize(to byteCount: Int, serial: Int) {
        guard byteCount != live.count else { return }
        let kind: Change.Kind = byteCount < live.count ? .cut(byteCount) : .extend(byteCount)
        kind.apply(to: &live)
        unsynced.append(Change(serial: serial, kind: kind))
    }

    /// Makes everything durable, except what an earlier failed sync gave up and nobody wrote again.
    mutating func sync() {
        guard unsynced.contains(where: \.isDoubtful) else {
            for change in unsynced { change.kind.apply(to: &durable) }
            unsynced.removeAll()
            return
        }
        var rewritten: Set<Int> = []
        var firstCut = Int.max
        for change in unsynced {
            switch change.kind {
            case .write(let offset, let bytes) where !change.isDoubtful:
                rewritten.formUnion(Self.sectors(of: offset..<(offset + bytes.count)))
            case .cut(let length): firstCut = min(firstCut, length / Self.sectorByteCount)
            case .write, .extend: break
            }
        }
        var doubtful: [Change] = []
        for change in unsynced {
            guard change.isDoubtful, case .write(let offset, let bytes) = change.kind else {
                change.kind.apply(to: &durable)
                continue
            }
            for piece in Self.pieces(of: bytes, at: offset) {
                let kind = Change.Kind.write(offset: piece.offset, bytes: Array(piece.bytes))
                if piece.sector >= firstCut || rewritten.contains(piece.sector) {
                    kind.apply(to: &durable)
                } else {
                    doubtful.append(Change(serial: change.serial, kind: kind, isDoubtful: true))
                }
            }
        }
        // The length is metadata, which this sync did write.
        Change.Kind.resize(&durable, to: live.count)
        unsynced = doubtful
    }

    /// What a failed sync leaves: changes that are seen by readers, and that no later sync writes.
    mutating func failSync() {
        for index in unsynced.indices { unsynced[index].isDoubtful = true }
    }

    /// Turns one bit over, on the medium and in every reader's eyes.
    mutating func flipBit(_ bit: Int, at offset: Int) {
        if offset < live.count { live[offset] ^= 1 << UInt8(bit) }
        if offset < durable.count { durable[offset] ^= 1 << UInt8(bit) }
    }

    /// The sectors that a range of bytes touches.
    static func sectors(of range: Range<Int>) -> ClosedRange<Int> {
        (range.lowerBound / sectorByteCount)...((range.upperBound - 1) / sectorByteCount)
    }

    /// A write cut at the borders of sectors.
    static func pieces(
        of bytes: [UInt8],
        at offset: Int
    ) -> [(sector: Int, offset: Int, bytes: ArraySlice<UInt8>)] {
        sectors(of: offset..<(offset + bytes.count)).map { sector in
            let start = max(offset, sector * sectorByteCount)
            let end = min(offset + bytes.count, (sector + 1) * sectorByteCount)
            return (sector, start, bytes[(start - offset)..<(end - offset)])
        }
    }
}

extension SimulatedContent.Change.Kind {
    /// Makes the change.
    func apply(to bytes: inout [UInt8]) {
        switch self {
        case .write(let offset, let new):
            Self.overwrite(&bytes, with: new[...], at: offset)
        case .cut(let length), .extend(let length):
            Self.resize(&bytes, to: length)
        }
    }

    static func overwrite(_ bytes: inout [UInt8], with new: ArraySlice<UInt8>, at offset: Int) {
        let end = offset + new.count
        if bytes.count < end { resize(&bytes, to: end) }
        bytes.replaceSubrange(offset..<end, with: new)
    }

    static func resize(_ bytes: inout [UInt8], to length: Int) {
        if length < bytes.count {
            bytes.removeLast(bytes.count - length)
        } else {
            // By the C library: `[UInt8](repeating:count:)` calls a generic function for each byte in a
            // debug build.
            bytes = [UInt8](unsafeUninitializedCapacity: length) { room, count in
                guard let start = room.baseAddress else { return }
                memcpy(start, bytes, bytes.count)
                memset(start + bytes.count, 0, length - bytes.count)
                count = length
            }
        }
    }
}

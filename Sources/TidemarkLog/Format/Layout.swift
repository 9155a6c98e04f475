// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The constants of files on disk.
///
/// `Docs/formats/segment.md` is normative: a change here requires a change there, in the golden
/// files, and of `formatVersion`.
package enum Layout {
    /// The newest version that this build writes and reads.
    package static let formatVersion: UInt16 = 2
    /// The version of files without stripes, which readers of that version understand.
    package static let plainVersion: UInt16 = 1

    /// Returns the newest version of a kind of file that this build reads.
    static func version(of kind: FileKind) -> UInt16 {
        kind == .segment ? formatVersion : plainVersion
    }

    /// `TIDEMARK` in ASCII, read as a little-endian number: the first eight bytes of every file.
    package static let fileMagic: UInt64 = 0x4B52_414D_4544_4954
    /// `TFRM`.
    package static let frameMagic: UInt32 = 0x4D52_4654
    /// `TFTR`.
    package static let footerMagic: UInt32 = 0x5254_4654
    /// `TIDEFOOT`: the last eight bytes of a sealed segment.
    package static let trailerMagic: UInt64 = 0x544F_4F46_4544_4954

    package static let fileHeaderByteCount = 256
    package static let frameHeaderByteCount = 80
    package static let blockEntryByteCount = 32
    package static let footerHeaderByteCount = 160
    package static let zoneEntryByteCount = 16
    package static let trailerByteCount = 32

    /// Frames start at multiples of this, so that no length field is ever torn.
    package static let frameAlignment = 8
    /// The unit that a disk writes whole.
    package static let sectorByteCount = 512

    /// A block of new commits holds at most this many raw bytes, unless one event alone is larger.
    package static let blockByteCount = 16 << 10
    /// The same for a block of a compacted segment.
    package static let compactedBlockByteCount = 32 << 10
    /// A dictionary has at most this many raw bytes: as far back as LZ4 can refer.
    package static let dictionaryByteCount = 64 << 10
    /// One commit has at most this many raw bytes; lengths in a frame are 32 bits.
    package static let commitByteCountLimit = 1 << 30
    /// A frame is closed when it holds this many raw bytes.
    package static let frameByteCountTarget = 1 << 20
    /// A frame is closed when it covers this many positions, most of them without events.
    ///
    /// A frame counts positions in 32 bits, and its last commit may extend beyond this limit.
    package static let framePositionCount = 1 << 30
    /// The greatest position, so that no sum of positions overflows.
    package static let lastPosition: UInt64 = 1 << 62
    /// A stripe is closed when it holds this many bytes of payloads and envelopes.
    package static let stripeByteCount = 4 << 20
    /// The divisor of the permitted growth: a stripe may be longer than frames of the same events
    /// by one part in this number, because grouping repeats the heads of commits.
    package static let stripeGrowthDivisor = 8
    /// A zone with fewer raw bytes than this in a stripe shares blocks with others.
    package static let ownBlockByteCount = 4 << 10
    /// A map is closed when it has this many raw bytes; a lookup of one event walks half of it on
    /// average.
    package static let mapByteCount = 4 << 10
    /// The smallest segment, and the growth step of small stores.
    package static let smallestSegmentByteCount = 1 << 20
    /// The divisor of the log's length that gives the length of its next segment.
    ///
    /// Up to one and a half such segments are zeros, which count as spare space.
    package static let segmentShareDivisor = 24
    /// The divisor of the log's length that gives the length to which compaction merges segments.
    static let mergedShareDivisor = 16
    /// A manifest is allocated in steps of this.
    package static let manifestByteCount = 64 << 10

    /// No frame begins at or after this offset, since block offsets have 32 bits.
    package static let frameOffsetLimit: UInt64 = 1 << 32
    /// The length at which a journal segment ends, regardless of the configuration.
    package static let journalSegmentByteCount = 64 << 20

    /// Returns the length up to which compaction merges neighboring segments: a part of all finished
    /// ones, so that little space is needed to write one.
    static func mergedByteCount(of finished: UInt64, segmentByteCount: Int) -> UInt64 {
        let share = finished / UInt64(mergedShareDivisor)
        return min(max(share, UInt64(stripeByteCount)), UInt64(segmentByteCount))
    }

    /// Rounds up to the frame alignment.
    package static func aligned(_ byteCount: Int) -> Int {
        (byteCount + frameAlignment - 1) & ~(frameAlignment - 1)
    }

    /// Returns the seed of a checksum over bytes at a place in a file.
    ///
    /// Neither stale bytes nor user data can be mistaken for bytes that were written there.
    package static func seed(salt: UInt64, offset: UInt64) -> UInt64 {
        salt &+ (offset &+ 1) &* 0x9E37_79B9_7F4A_7C15
    }
}

/// The purpose of a file.
///
/// Raw values are on disk.
package enum FileKind: UInt8, Sendable {
    case segment = 1
    case manifest = 2
    case journal = 3
}

/// The purpose of a frame.
///
/// Raw values are on disk.
package enum FrameKind: UInt8, Sendable {
    /// Commits, in blocks.
    case commits = 1
    /// Vouches for the frames before it; written unsynced when the writer goes idle.
    case marker = 2
    /// Written and synced by a clean close.
    case closing = 3
    /// The first frame after an unclean stop, which records the discarded bytes.
    case recovery = 4
    /// Edits of the manifest.
    case edits = 5
    /// Commits whose events are grouped by zone; only compaction writes them.
    case stripe = 6

    /// True if frames of this kind hold events.
    package var holdsEvents: Bool { self == .commits || self == .stripe }
}

/// The tags inside a block's payload.
///
/// Raw values are on disk.
enum EntryTag {
    /// A commit's envelope, before its first event in this block.
    static let commit: UInt8 = 1
    /// An event.
    static let event: UInt8 = 2
    /// Positions that hold no event: dropped by compaction, or lost and skipped by salvage.
    static let gap: UInt8 = 3
}

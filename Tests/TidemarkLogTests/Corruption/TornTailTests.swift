// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing

@testable import TidemarkLog

/// A last frame that is not there whole: an error of the disk, a torn write, or corruption.
@Suite struct TornTailTests {
    /// A store whose last frame covers at least three sectors, and where in its file that lies.
    private struct LastFrame {
        let store: SmallStore
        let path: String
        let range: Range<Int>

        init(_ end: SmallStore.End) throws {
            store = try SmallStore(end)
            path = try #require(try store.segments.last)
            let file = try store.disk.open(path, .read)
            let header = try FileHeader.read(from: file, kind: .segment)
            var scan = try FrameScan(file, header: header)
            var last: FrameScan.Frame?
            while case .frame(let frame) = try scan.step() {
                if frame.header.kind == .commits { last = frame }
            }
            let frame = try #require(last)
            range = Int(frame.offset)..<Int(frame.end)
        }

        /// The disk with a part of the frame zeroed.
        func zeroing(_ part: Range<Int>) throws -> SimulatedFileSystem {
            try store.damaging(path) { bytes in
                for byte in part.clamped(to: range) { bytes[byte] = 0 }
            }
        }
    }

    @Test func `An unwritten sector of a frame without a marker is a torn tail`() throws {
        let frame = try LastFrame(.unvouched)
        let kept = frame.store.history.events.filter { $0.commitFirst < frame.store.lastCommit }
        #expect(kept.count < frame.store.history.events.count)
        for sector in frame.range.lowerBound / 512...(frame.range.upperBound - 1) / 512 {
            let disk = try frame.zeroing(sector * 512..<(sector + 1) * 512)
            let reader = try LogReader(SmallStore.path, fileSystem: disk)
            #expect(reader.damage == [])
            #expect(reader.tornByteCount > 0)
            let (log, report) = try SmallStore.open(disk)
            #expect(try log.written() == kept)
            #expect(!report.wasClean)
            #expect(report.discardedByteCount > 0)
            #expect(report.discardedAt?.path == frame.path)
            #expect(report.discardedAt?.offset == UInt64(frame.range.lowerBound))
            #expect(log.line.entries.count == frame.store.line.entries.count + 1)
        }
    }

    @Test(arguments: [SmallStore.End.vouched, .closed])
    func `The same sector is corruption if a marker or a close vouches for it`(
        _ end: SmallStore.End
    ) throws {
        let frame = try LastFrame(end)
        for sector in frame.range.lowerBound / 512...(frame.range.upperBound - 1) / 512 {
            let disk = try frame.zeroing(sector * 512..<(sector + 1) * 512)
            #expect { try SmallStore.open(disk) } throws: {
                let error = $0 as? LogError
                return error?.code == .corrupted && error?.path == frame.path
                    && error?.offset == UInt64(frame.range.lowerBound)
            }
            let reader = try LogReader(SmallStore.path, fileSystem: disk)
            #expect(!reader.damage.isEmpty)
        }
    }

    @Test func `A completely written frame with wrong bytes is corruption`() throws {
        let frame = try LastFrame(.unvouched)
        let disk = try frame.store.damaging(frame.path) { bytes in
            for byte in frame.range.lowerBound + 120..<frame.range.lowerBound + 130 {
                bytes[byte] ^= 0xFF
            }
        }
        #expect { try SmallStore.open(disk) } throws: {
            ($0 as? LogError)?.code == .corrupted
        }
    }

    @Test func `An unreadable range is neither`() throws {
        let frame = try LastFrame(.unvouched)
        let disk = frame.store.disk.crash(.keepingEverything)
        try disk.failReads(of: frame.path, in: frame.range, with: EIO)
        #expect { try SmallStore.open(disk) } throws: {
            let error = $0 as? LogError
            return error?.code == .unreadable && error?.cause?.errorNumber == EIO
        }
        disk.clearFaults()
        let (log, _) = try SmallStore.open(disk)
        #expect(try log.written() == frame.store.history.events)
    }
}

extension SmallStore {
    /// Where the last commit begins.
    var lastCommit: UInt64 { history.events.last?.commitFirst ?? 0 }
}

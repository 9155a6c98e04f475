// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

/// Files that are cut, zeroed, swapped, missing, foreign, empty or newer.
@Suite struct DamagedFileTests {
    @Test(arguments: SmallStore.End.all)
    func `A file truncated at any length is detected`(_ end: SmallStore.End) throws {
        let store = try SmallStore(end)
        var wrong: [String] = []
        for path in try store.files {
            let byteCount = try store.disk.contents(of: path).count
            let step = runsLongTests ? 1 : max(17, byteCount / 60)
            for length in 0..<byteCount where length < 270 || length % step == 0 {
                let disk = try store.damaging(path) { $0.removeLast(byteCount - length) }
                if let text = store.wrongToReader(disk) ?? store.wrong(disk, path) {
                    wrong.append("\(path) cut to \(length): \(text)")
                }
            }
        }
        #expect(wrong.prefix(5) == [])
    }

    @Test func `The error for a truncated manifest names no event`() throws {
        let store = try SmallStore(.unsealed)
        let byteCount = try store.disk.contents(of: store.manifest).count
        var texts: [String] = []
        for length in stride(from: 0, to: byteCount, by: 16) {
            let disk = try store.damaging(store.manifest) { $0.removeLast(byteCount - length) }
            do throws(LogError) {
                _ = try SmallStore.open(disk)
            } catch {
                texts.append(error.description)
            }
        }
        #expect(texts.contains { $0.contains("Expected another frame; found ") }, "\(texts)")
        #expect(!texts.contains { $0.contains("after event") })
    }

    @Test(arguments: [SmallStore.End.closed, .vouched])
    func `A zeroed sector is detected if other data vouches for it`(
        _ end: SmallStore.End
    ) throws {
        let store = try SmallStore(end)
        var wrong: [String] = []
        for path in try store.segments + [store.current] {
            let bytes = try store.disk.contents(of: path)
            let byteCount = bytes.count
            for start in stride(from: 0, to: byteCount, by: 512) {
                // A marker that is lost together with the frame it vouches for vouches no more.
                let isLast = bytes[start...].lastIndex { $0 != 0 } ?? 0 < start + 512
                if end == .vouched, isLast { continue }
                let disk = try store.damaging(path) { bytes in
                    for byte in start..<min(start + 512, byteCount) { bytes[byte] = 0 }
                }
                if let text = store.wrongToReader(disk) ?? store.wrong(disk, path) {
                    wrong.append("\(path) zeroed at \(start): \(text)")
                }
            }
        }
        #expect(wrong.prefix(5) == [])
    }

    @Test func `A zeroed sector of an ended segment is detected, even without a footer`() throws {
        let store = try SmallStore(.unsealed)
        let manifest = try LogReader(SmallStore.path, fileSystem: store.disk).manifest
        for segment in manifest.segments {
            guard let framesEnd = segment.framesEnd else { continue }
            #expect(segment.fileByteCount == nil)
            let path = StoreFolder(SmallStore.path).segment(segment.id)
            for start in stride(from: 0, to: Int(framesEnd), by: 512) {
                let disk = try store.damaging(path) { bytes in
                    for byte in start..<min(start + 512, bytes.count) { bytes[byte] = 0 }
                }
                let reader = try LogReader(SmallStore.path, fileSystem: disk)
                let found = try reader.written()
                #expect(found.count < store.history.events.count)
                #expect(reader.damage.first?.path == path)
                #expect(store.wrong(disk, path) == nil)
                #expect(throws: LogError.self) { try SmallStore.open(disk) }
            }
        }
    }

    @Test func `Garbage after the frames has no effect`() throws {
        for end in SmallStore.End.all {
            let store = try SmallStore(end)
            let path = try #require(store.segments.last)
            let bytes = try store.disk.contents(of: path)
            let used = try #require(bytes.lastIndex { $0 != 0 }) + 1
            for start in used..<bytes.count - 16 where start % 8 == 0 {
                let disk = try store.damaging(path) { bytes in
                    for byte in start..<start + 16 { bytes[byte] = 0x54 }
                }
                #expect(store.wrong(disk, path) == nil)
            }
        }
    }

    @Test func `A missing file is reported by name`() throws {
        let store = try SmallStore(.closed)
        for path in try store.segments + [store.manifest] {
            let disk = store.disk.crash(.keepingEverything)
            try disk.remove(path)
            #expect(store.wrong(disk, path, isMissing: true) == nil)
            #expect(throws: LogError.self) { try SmallStore.open(disk) }
        }
        let disk = store.disk.crash(.keepingEverything)
        try disk.remove(store.current)
        #expect(store.wrong(disk, store.current, isMissing: true) == nil)
        #expect { try SmallStore.open(disk) } throws: { ($0 as? LogError)?.code == .corrupted }
    }

    @Test func `Swapped segments are detected`() throws {
        let store = try SmallStore(.closed)
        let segments = try store.segments
        let bytes = try segments.map { try store.disk.contents(of: $0) }
        let disk = store.disk.crash(.keepingEverything)
        try disk.setContents(of: segments[0], to: bytes[1])
        try disk.setContents(of: segments[1], to: bytes[0])
        #expect { try SmallStore.open(disk) } throws: {
            ($0 as? LogError)?.code == .foreignFile && ($0 as? LogError)?.path == segments[0]
        }
        #expect(store.wrongToReader(disk) == nil)
    }

    @Test func `Files of another store are detected`() throws {
        let store = try SmallStore(.closed)
        let other = try SmallStore(.closed, seed: 2)
        let path = try #require(store.segments.first)
        let disk = try store.damaging(path) { [disk = other.disk] bytes in
            bytes = (try? disk.contents(of: path)) ?? []
        }
        #expect { try SmallStore.open(disk) } throws: {
            ($0 as? LogError)?.code == .foreignFile && ($0 as? LogError)?.path == path
        }
        let mixed = try store.damaging(store.manifest) { [disk = other.disk] bytes in
            bytes = (try? disk.contents(of: store.manifest)) ?? []
        }
        #expect { try SmallStore.open(mixed) } throws: {
            ($0 as? LogError)?.code == .foreignFile
        }
    }

    /// One of an unknown kind, and some with positions that no log reaches.
    private static let unknownEdits: [[UInt8]] = {
        let beyond = SequenceNumber(rawValue: Layout.lastPosition + 1)
        let id = SegmentID(first: SequenceNumber(rawValue: 1), generation: 0)
        let edits: [ManifestEdit] = [
            .began(Incarnation(rawValue: 9), first: beyond),
            .closed(last: SequenceNumber(rawValue: .max), framesEnd: 4096),
            .ended(id, last: SequenceNumber(rawValue: .max), framesEnd: 4096),
            .compacted(id, Incarnation(rawValue: 9), last: beyond),
            .added(SegmentID(first: beyond, generation: 0), Incarnation(rawValue: 9)),
        ]
        var unknown = [UInt8](repeating: 0, count: ManifestEdit.byteCount)
        unknown[0] = 9
        return [unknown]
            + edits.map { edit in
                var bytes: [UInt8] = []
                edit.append(to: &bytes)
                return bytes
            }
    }()

    @Test(arguments: unknownEdits)
    func `An edit that no known version writes is rejected, and not skipped`(edit: [UInt8]) throws {
        let store = try SmallStore(.closed)
        let bytes = try store.disk.contents(of: store.manifest)
        let header = try FileHeader(decoding: bytes.span.bytes, expecting: .manifest)
        var last = 0..<header.framesOffset
        while last.upperBound < bytes.count,
            let frame = FrameHeader(
                decoding: bytes.span.bytes.extracting(last.upperBound..<bytes.count),
                salt: header.salt,
                offset: UInt64(last.upperBound)
            )
        {
            last = last.upperBound..<last.upperBound + Int(frame.byteCount)
        }
        let place = FramePlace(
            salt: header.salt,
            offset: UInt64(last.upperBound),
            syncedOffset: UInt64(last.upperBound),
            chain: chainWord(after: bytes.span.bytes.extracting(last))
        )
        let frame = place.controlFrame(
            .edits,
            next: .zero,
            lastTime: 0,
            lastReceived: 0,
            payload: edit
        )
        let range = last.upperBound..<last.upperBound + frame.count
        let disk = try store.damaging(store.manifest) { bytes in
            if bytes.count < range.upperBound {
                bytes += [UInt8](repeating: 0, count: range.upperBound - bytes.count)
            }
            bytes.replaceSubrange(range, with: frame)
        }
        #expect { try SmallStore.open(disk) } throws: { isNewer($0, store.manifest) }
        #expect {
            try LogReader(SmallStore.path, fileSystem: disk)
        } throws: {
            isNewer($0, store.manifest)
        }
    }

    private func isNewer(_ error: any Error, _ path: String) -> Bool {
        (error as? LogError)?.code == .newerVersion && (error as? LogError)?.path == path
    }

    @Test func `A frame of an unknown kind is damage`() throws {
        let store = try SmallStore(.vouched)
        let path = try #require(try store.segments.last)
        let bytes = try store.disk.contents(of: path)
        let header = try FileHeader(decoding: bytes.span.bytes, expecting: .segment)
        let disk = try store.damaging(path) { bytes in
            let start = header.framesOffset
            let checked = start..<start + Layout.frameHeaderByteCount - 8
            bytes[start + 4] = 9
            let seed = Layout.seed(salt: header.salt, offset: UInt64(start))
            let checksum = xxh3(Array(bytes[checked]).span.bytes, seed: seed)
            bytes.store(integer: checksum, at: checked.upperBound)
        }
        #expect(store.wrong(disk, path) == nil)
        #expect(throws: LogError.self) { try SmallStore.open(disk) }
        #expect(store.wrongToReader(disk, demandsDamage: true) == nil)
    }

    @Test func `A file of a newer version is rejected as newer, not as damaged`() throws {
        let store = try SmallStore(.closed)
        for path in try store.segments + [store.manifest] {
            let disk = try store.damaging(path) { bytes in
                bytes.store(integer: UInt16(9), at: 8)
                bytes.store(integer: UInt16(9), at: 10)
                let checked = Array(bytes[0..<248])
                bytes.store(integer: xxh3(checked.span.bytes, seed: 0), at: 248)
            }
            #expect { try SmallStore.open(disk) } throws: { isNewer($0, path) }
        }
    }

    @Test func `A folder without a store and an empty folder are not opened as a store`() throws {
        let disk = SimulatedFileSystem()
        try disk.createDirectory(SmallStore.path)
        func open(creating: Bool) throws -> SegmentLog {
            try SegmentLog.open(
                SmallStore.path,
                creating: creating,
                configuration: LogConfiguration(),
                environment: CrashWorkload.environment(disk, seed: 1),
                onDurable: { _ in }
            ).log
        }
        #expect { try open(creating: false) } throws: { ($0 as? LogError)?.code == .notAStore }
        try disk.setContents(of: SmallStore.path + "/letter.txt", to: [1, 2, 3])
        #expect { try open(creating: true) } throws: { ($0 as? LogError)?.code == .notAStore }
        #expect(try disk.list(SmallStore.path) == ["letter.txt"])
    }
}

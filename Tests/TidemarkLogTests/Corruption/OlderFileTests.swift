// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing

@testable import TidemarkLog

/// Files that come back as they were earlier, and segments that the manifest does not list: nothing
/// that was acknowledged may go missing without a word.
@Suite struct OlderFileTests {
    private static let folder = StoreFolder(SmallStore.path)

    /// A log over several openings, and what its files held after each of some steps.
    private struct Run {
        private(set) var disk = SimulatedFileSystem(keepsTrace: false)
        private(set) var history = History()
        private(set) var moments: [[String: [UInt8]]] = []

        init(closes: Bool) throws {
            var drafts = DraftSource(seed: 5)
            for session in 1...3 {
                let log = try SmallStore.open(disk, seed: UInt64(session)).log
                for _ in 1...4 {
                    for _ in 1...2 {
                        let draft = drafts.draft(events: 1...2, payload: 20...90, envelope: 4...9)
                        _ = try log.append(draft)
                        history.append(draft)
                        try log.blockUntilDurable(log.lastSequence)
                    }
                    moments.append(disk.files(below: SmallStore.path))
                }
                // What came after the last of these moments is in later files too. Files that are all
                // as they were at one moment cannot be told from that moment.
                let segmentCount = log.files.segmentCount
                while session == 3, log.files.segmentCount < segmentCount + 2 {
                    let draft = drafts.draft(events: 1...2, payload: 20...90, envelope: 4...9)
                    _ = try log.append(draft)
                    history.append(draft)
                    try log.blockUntilDurable(log.lastSequence)
                }
                history.acknowledge(in: log)
                if closes { try log.close() }
                moments.append(disk.files(below: SmallStore.path))
                if !closes { disk = disk.crash(.processKilled) }
            }
            history.isCreated = true
        }
    }

    /// Which files come back.
    enum Files: CaseIterable {
        case current, manifests, segments, currentAndManifests, manifestsAndSegments
        case currentManifestsAndOlderSegments

        func match(_ path: String, in moment: [String: [UInt8]]) -> Bool {
            let isManifest = path.contains("/manifest-")
            let isSegment = path.hasSuffix(".seg")
            return switch self {
            case .current: path.hasSuffix("/CURRENT")
            case .manifests: isManifest
            case .segments: isSegment && moment[path] != nil
            case .currentAndManifests: isManifest || path.hasSuffix("/CURRENT")
            case .manifestsAndSegments: (isManifest || isSegment) && moment[path] != nil
            case .currentManifestsAndOlderSegments:
                (isManifest || isSegment || path.hasSuffix("/CURRENT")) && moment[path] != nil
            }
        }
    }

    @Test(arguments: Files.allCases, [true, false])
    func `A restored older file hides no event`(files: Files, closes: Bool) throws {
        let run = try Run(closes: closes)
        var changedCount = 0
        for (number, moment) in run.moments.enumerated() {
            let disk = run.disk.crash(.keepingEverything)
            let before = disk.files(below: SmallStore.path)
            try disk.bringBack(moment, below: SmallStore.path) { files.match($0, in: moment) }
            guard disk.files(below: SmallStore.path) != before else { continue }
            changedCount += 1
            let events = run.history.events
            let comment: Comment = "moment \(number)"
            expectNothingHidden(from: disk, events, comment)
        }
        #expect(changedCount > 0)
    }

    /// Reads, salvages and writes a disk: each has all events, or says that it has not.
    private func expectNothingHidden(
        from disk: SimulatedFileSystem,
        _ events: [WrittenEvent],
        _ comment: Comment
    ) {
        do throws(LogError) {
            let reader = try LogReader(SmallStore.path, fileSystem: disk)
            let found = try reader.written()
            #expect(found == events || !reader.damage.isEmpty, comment)
            #expect(try reader.verify().damage.isEmpty == reader.damage.isEmpty, comment)
        } catch {
            #expect(error.path != nil, comment)
        }
        do throws(LogError) {
            let copy = disk.crash(.keepingEverything)
            let salvage = try Salvage.run(
                from: SmallStore.path,
                to: "/copy.tide",
                environment: CrashWorkload.environment(copy, seed: 3)
            )
            #expect(
                salvage.eventCount == UInt64(events.count) || !salvage.lost.isEmpty,
                "\(comment): salvaged \(salvage.eventCount) of \(events.count)"
            )
        } catch {
            Issue.record("\(comment): \(error)")
        }
        do throws(LogError) {
            let found = try SmallStore.open(disk).log.written()
            #expect(found == events, comment)
        } catch {
            #expect([.corrupted, .foreignFile].contains(error.code), "\(comment): \(error)")
        }
    }

    @Test(arguments: [SmallStore.End.closed, .vouched])
    func `Salvage reports the lost end that the manifest lists`(
        end: SmallStore.End
    ) throws {
        let store = try SmallStore(end)
        let active = try #require(try store.segments.last)
        let first = try #require(
            SegmentID(fileName: String(active.split(separator: "/").last ?? ""))
        ).first
        let last = SequenceNumber(rawValue: UInt64(store.history.events.count))
        let zeroed = try store.damaging(active) { bytes in
            let frames = Layout.fileHeaderByteCount
            for index in frames..<bytes.count { bytes[index] = 0 }
        }
        let gone = store.disk.crash(.keepingEverything)
        try gone.remove(active)
        for disk in [zeroed, gone] {
            let salvage = try Salvage.run(
                from: SmallStore.path,
                to: "/copy.tide",
                environment: CrashWorkload.environment(disk, seed: 3)
            )
            // Without a clean close only the views know how far the log went.
            #expect(salvage.lost == (end == .closed ? [first...last] : []))
        }
    }

    @Test func `Salvage reports every position as lost if no segment is left`() throws {
        let store = try SmallStore(.closed)
        let disk = store.disk.crash(.keepingEverything)
        for path in try store.segments { try disk.remove(path) }
        let salvage = try Salvage.run(
            from: SmallStore.path,
            to: "/copy.tide",
            environment: CrashWorkload.environment(disk, seed: 3)
        )
        let last = SequenceNumber(rawValue: UInt64(store.history.events.count))
        #expect(salvage.lost == [SequenceNumber(rawValue: 1)...last])
        #expect(salvage.eventCount == 0)
        #expect(!salvage.damage.isEmpty)
    }

    @Test func `A stray segment is the same error for readers, verify and the writer`() throws {
        let store = try SmallStore(.closed)
        let names = try store.disk.list(Self.folder.segments)
        let id = try #require(names.compactMap(SegmentID.init(fileName:)).max())
        let active = Self.folder.segment(id)
        let stray = Self.folder.segment(
            SegmentID(first: id.first, generation: id.generation + 1)
        )
        let disk = store.disk.crash(.keepingEverything)
        try disk.setContents(of: stray, to: try disk.contents(of: active))
        let reader = try LogReader(SmallStore.path, fileSystem: disk)
        let found = try #require(reader.damage.first)
        #expect(reader.damage.count == 1)
        #expect(found.code == .corrupted && found.path == stray)
        #expect(try reader.verify().damage == [found])
        #expect(throws: found) { _ = try SmallStore.open(disk) }
    }

    @Test func `Segments that a live writer has not listed yet are not stray`() throws {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let log = try SmallStore.open(disk).log
        var drafts = DraftSource(seed: 9)
        try log.commit(drafts.draft(events: 1...2, payload: 20...90, envelope: 4...9))
        let active = try #require(
            try disk.list(Self.folder.segments).first { $0.hasSuffix("-0.seg") }
        )
        let path = Self.folder.segments + "/" + active
        try disk.setContents(
            of: path.replacing("-0.seg", with: "-1.seg"),
            to: try disk.contents(of: path)
        )
        let reader = try LogReader(SmallStore.path, fileSystem: disk)
        #expect(reader.isLive)
        #expect(reader.damage.isEmpty)
    }
}

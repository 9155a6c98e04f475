// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

/// Files whose checksums fit, and which say what no writer writes.
@Suite struct ForgedFileTests {
    private let disk = SimulatedFileSystem(keepsTrace: false)
    private let folder = StoreFolder("/store")
    private let store = StoreID(low: 1, high: 2)

    init() throws {
        try disk.createDirectory(folder.path)
        try disk.createDirectory(folder.journal)
    }

    @Test func `A dictionary over the maximum length is damaged`() throws {
        var header = FileHeader(
            kind: .segment,
            store: store,
            incarnation: Incarnation(rawValue: 3),
            first: .zero,
            created: 0,
            salt: 7
        )
        let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
        let stored = header.setDictionary(DictionarySample(bytes: bytes), level: .fast)
        let file = try disk.open("/store/segment", .create)
        let start = UInt64(Layout.fileHeaderByteCount)
        try file.allocate(to: UInt64(header.framesOffset))
        try file.write(stored.span.bytes, at: start)
        #expect(try SegmentReader.dictionary(of: file, header: header) == bytes)
        for claimed in [19_999, 1 << 20, 1 << 31, UInt32.max] {
            header.dictionary.rawByteCount = claimed
            let error = #expect(throws: LogError.self) {
                try SegmentReader.dictionary(of: file, header: header)
            }
            #expect(error?.code == .corrupted)
        }
    }

    private func journal(seed: UInt64) -> Journal {
        var environment = LogEnvironment.fixed(disk, seed: seed)
        environment.writesInline = true
        environment.now = { 1_700_000_000_000 }
        return Journal(
            folder,
            of: store,
            Incarnation(rawValue: 7),
            JournalConfiguration(),
            environment
        )
    }

    /// Expects that the journal takes in an entry beside what lies there, and that nothing is damaged.
    private func expectWritable() {
        let journal = journal(seed: 5)
        journal.append([1, 2, 3], at: 10)
        journal.close()
        #expect(journal.figures.lostCount == 0 && journal.figures.entryCount == 1)
        var reader = JournalReader(folder, of: store, disk)
        var count = 0
        reader.read { _, _, _ in count += 1 }
        #expect(count == 1)
        #expect(reader.damage == [])
    }

    @Test func `A file with the last possible journal number is ignored`() throws {
        let path = "\(folder.journal)/\(UInt64.max).jnl"
        let bytes: [UInt8] = [1, 2, 3]
        let file = try disk.open(path, .create)
        try file.write(bytes.span.bytes, at: 0)
        expectWritable()
        #expect(try disk.contents(of: path) == bytes)
        #expect(try JournalReader.numbers(in: folder, disk) == [1])
    }

    @Test(arguments: [Int64.min, .max])
    func `A journal segment of another age is closed, and a new one starts`(
        created: Int64
    ) throws {
        let header = FileHeader(
            kind: .journal,
            store: store,
            incarnation: Incarnation(rawValue: 7),
            first: .zero,
            created: created,
            salt: 9
        )
        let file = try disk.open(folder.journalSegment(1), .create)
        try file.write(header.encoded().span.bytes, at: 0)
        expectWritable()
        #expect(try JournalReader.numbers(in: folder, disk) == [1, 2])
        #expect(try disk.contents(of: folder.journalSegment(1)) == header.encoded())
        // The new segment has the present time, so the next opening continues it.
        let next = journal(seed: 6)
        next.append([4], at: 20)
        next.close()
        #expect(try JournalReader.numbers(in: folder, disk) == [1, 2])
    }
}

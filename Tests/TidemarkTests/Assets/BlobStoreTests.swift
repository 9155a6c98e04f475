// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog

@testable import Tidemark

@Suite struct BlobStoreTests {
    private static let known: [([UInt8], String)] = [
        ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (Array("abc".utf8), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Array(repeating: UInt8(ascii: "a"), count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ]

    @Test(arguments: known.indices)
    func `A blob is named by its SHA-256 and read as it was sent`(_ index: Int) throws {
        let (bytes, name) = Self.known[index]
        let blobs = try ScratchBlobs()
        let blob = try blobs.put(bytes, pieces: 3)
        #expect(blob.description == name)
        #expect(try blobs.get(blob, pieceByteCount: 1 << 16) == bytes)
        #expect(try blobs.disk.contents(of: "\(ScratchBlobs.folder)/\(name)") == bytes)
        #expect(try blobs.store.status(of: blobs.held(blob))?.byteCount == UInt64(bytes.count))
        #expect(try blobs.all() == [blobs.held(blob)])
        try blobs.store.verify(blobs.held(blob))
    }

    @Test func `Pieces of any size result in the same blob`() throws {
        let bytes = (0..<3_000).map { UInt8(truncatingIfNeeded: $0 * 31) }
        let blobs = try ScratchBlobs()
        let names = try [1, 2, 7, 100, 3_000].map { try blobs.put(bytes, pieces: $0) }
        #expect(Set(names).count == 1)
        #expect(try blobs.all().count == 1)
        for size in [1, 7, 2_999, 3_000, 3_001] {
            #expect(try blobs.get(names[0], pieceByteCount: size) == bytes)
        }
        let reader = try blobs.store.open(blobs.held(names[0]))
        #expect(try reader.read(3, at: 100) == Array(bytes[100..<103]))
        #expect(
            try reader.next(upTo: 3) == Array(bytes[0..<3]),
            "a part in between does not matter"
        )
        #expect(reader.byteCount == 3_000)
    }

    @Test func `The folder name of a database is that of the format document`() {
        #expect(BlobHolder(.standard).folderName == "0e6e5c2fdc40a3b9f1fa389dcdff7640")
        #expect(BlobHolder(folderName: "0e6e5c2fdc40a3b9f1fa389dcdff7640") == BlobHolder(.standard))
        for name in ["incoming", "", "0E6E5C2FDC40A3B9F1FA389DCDFF7640"] {
            #expect(BlobHolder(folderName: name) == nil)
        }
    }

    @Test(arguments: [1, 2])
    func `A blob that is collected while it is copied is skipped`(time: Int) throws {
        let blobs = try ScratchBlobs()
        let blob = blobs.held(try blobs.put(Array("abc".utf8)))
        let other = blobs.held(try blobs.put(Array("other".utf8)))
        let disk = blobs.disk
        try disk.createDirectory("/copy")
        // A copy opens a blob twice: to check it, and to copy it.
        let files = HookedFileSystem(disk)
        let path = blobs.store.path(of: blob)
        files.beforeOpening(path, time: time) { try? disk.remove(path) }
        let copy = try BlobCopy(from: StoreFolder("/store"), to: StoreFolder("/copy"), files)
        #expect(copy.damage == [])
        #expect(copy.count == 1)
        let copies = BlobStore(StoreFolder("/copy"), disk)
        #expect(try copies.status(of: blob) == nil)
        try copies.verify(other)
    }

    @Test func `Equal bytes in two databases are two blobs`() throws {
        let blobs = try ScratchBlobs()
        let other = BlobHolder(DatabaseID(scope: .public))
        let blob = try blobs.put([1, 2, 3])
        #expect(try blobs.store.status(of: HeldBlob(blob, of: other)) == nil)
        #expect(try blobs.put([1, 2, 3], to: other) == blob)
        #expect(try blobs.all().count == 2)
    }

    @Test func `A blob that is too large, mismatched or dropped leaves nothing`() throws {
        let blobs = try ScratchBlobs()
        let other = try blobs.put([9])
        do {
            let upload = try blobs.store.upload(to: ScratchBlobs.holder, limit: 3)
            try upload.append([1, 2, 3])
            #expect(throws: BlobError.tooLarge(limit: 3)) { try upload.append([1]) }
        }
        let wrong = try #require(BlobID(hexadecimal: Self.known[1].1))
        #expect(throws: BlobError.self) { try blobs.put([1], announced: wrong) }
        #expect(try blobs.put([9], announced: other) == other)
        #expect(try blobs.all() == [blobs.held(other)])
        #expect(try blobs.disk.list("/store/assets/incoming") == [])
        #expect(throws: BlobError.missing(wrong)) { try blobs.store.verify(blobs.held(wrong)) }
        let read = try blobs.get(try blobs.put([1, 2, 3]))
        #expect(read == [1, 2, 3])
    }

    @Test func `Removed blobs stay removed after a crash`() throws {
        let blobs = try ScratchBlobs()
        let all = try (0..<20).map { try blobs.held(blobs.put([UInt8($0)])) }
        blobs.disk.setClock(10)
        try blobs.put([19])
        for blob in all.prefix(15) { #expect(try blobs.store.take(blob, writtenBefore: 10)) }
        #expect(try !blobs.store.take(all[0], writtenBefore: 10), "it is gone")
        #expect(try !blobs.store.take(all[19], writtenBefore: 10), "it was sent again")
        try blobs.store.finishTaking(Array(all.prefix(15)))
        #expect(try blobs.disk.list("/store/assets/incoming") == [])
        for outcome in blobs.disk.crashOutcomes(limit: 50) {
            let after = try ScratchBlobs(blobs.disk.crash(outcome))
            #expect(Set(try after.all()) == Set(all.suffix(5)))
        }
    }

    @Test func `Every flipped bit of a blob's file is detected`() throws {
        let blobs = try ScratchBlobs()
        let bytes: [UInt8] = Array("a small blob".utf8)
        let blob = try blobs.put(bytes)
        let path = blobs.store.path(of: blobs.held(blob))
        let damaged = BlobError.damaged(blob, path: path)
        for bit in 0..<bytes.count * 8 {
            try blobs.disk.flipBit(path, at: bit / 8, bit: bit % 8)
            #expect(throws: damaged) { try blobs.get(blob) }
            try blobs.disk.flipBit(path, at: bit / 8, bit: bit % 8)
        }
        for changed in [[], Array(bytes.dropLast()), bytes + [0]] {
            try blobs.disk.setContents(of: path, to: changed)
            #expect(throws: damaged) { try blobs.store.verify(blobs.held(blob)) }
        }
        #expect(try blobs.put(bytes) == blob, "sending it again repairs it")
        #expect(try blobs.get(blob) == bytes)
    }

    @Test func `The end of a damaged blob is never returned`() throws {
        let blobs = try ScratchBlobs()
        let blob = try blobs.put(Array(0..<100))
        try blobs.disk.flipBit(blobs.store.path(of: blobs.held(blob)), at: 3, bit: 0)
        let reader = try blobs.store.open(blobs.held(blob))
        #expect(try reader.next(upTo: 40).count == 40)
        #expect(try reader.next(upTo: 40).count == 40)
        #expect(throws: BlobError.self) { try reader.next(upTo: 40) }
    }

    @Test func `Files that are not named as blobs are ignored`() throws {
        let blobs = try ScratchBlobs()
        let blob = try blobs.put([1])
        for name in [
            "README", String(repeating: "A", count: 64), String(repeating: "0", count: 63),
        ] {
            try blobs.disk.setContents(of: "\(ScratchBlobs.folder)/\(name)", to: [])
        }
        #expect(try blobs.all() == [blobs.held(blob)])
        #expect(BlobID([1, 2, 3]) == nil)
        #expect(BlobID(hexadecimal: "ab") == nil)
        #expect(BlobID(hexadecimal: blob.description.uppercased()) == nil)
        #expect(BlobID(hexadecimal: blob.description) == blob)
        #expect(BlobID(blob.checksum) == blob)
    }

    @Test func `A store that is open for reading writes nothing`() throws {
        let blobs = try ScratchBlobs()
        let blob = try blobs.put([1, 2])
        let calls = blobs.disk.trace.count { $0.changesDisk }
        let reading = BlobStore(StoreFolder("/store"), blobs.disk)
        try reading.verify(blobs.held(blob))
        #expect(try reading.holders() == [ScratchBlobs.holder])
        #expect(blobs.disk.trace.count { $0.changesDisk } == calls + 1, "opening the blob's file")
    }

    @Test func `The blob store works on a real disk`() throws {
        let root = try ScratchFolder()
        let store = BlobStore(StoreFolder(root.url.path), PosixFileSystem())
        let upload = try store.upload(to: ScratchBlobs.holder, limit: 100)
        try upload.append(Array("abc".utf8))
        let blob = HeldBlob(try upload.finish(), of: ScratchBlobs.holder)
        #expect(blob.blob.description == Self.known[1].1)
        try store.verify(blob)
        #expect(try store.durableStatus(of: blob)?.byteCount == 3)
        #expect(try !store.take(blob, writtenBefore: 0))
        #expect(try store.take(blob, writtenBefore: .max))
        try store.finishTaking([blob])
        #expect(try store.status(of: blob) == nil)
    }

    @Test func `Errors have a remedy`() throws {
        let one = try #require(BlobID(Array(repeating: 1, count: 32)))
        let name = String(repeating: "01", count: 32)
        let texts: [(BlobError, String)] = [
            (
                .tooLarge(limit: 5),
                "The asset has more than 5 bytes, which is the limit. Send a smaller one, or raise "
                    + "the limit."
            ),
            (.missing(one), "The bytes of the asset \(name) are missing. Send them again."),
            (
                .damaged(one, path: "/x"),
                "The file of the asset \(name) no longer holds its bytes (/x). Send the asset again, or "
                    + "put the file back from a backup."
            ),
            (
                .mismatch(announced: one, found: one),
                "The asset was announced as \(name), but its bytes are \(name). Send it again."
            ),
        ]
        for (error, text) in texts {
            #expect(error.description == text)
            // The remedy of the code does not follow it.
            #expect(SyncError(error).description.hasSuffix(": \(text)"))
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TidemarkCommand

@Suite struct ByteReaderTests {
    /// All pieces of some bytes, read through a buffer of a given size.
    private func lines(of bytes: [UInt8], bufferByteCount: Int) throws -> [[UInt8]] {
        let file = try TemporaryFile(bytes)
        let handle = try FileHandle(forReadingFrom: file.url)
        var reader = ByteReader(
            handle.fileDescriptor,
            name: "a file",
            bufferByteCount: bufferByteCount
        )
        var lines: [[UInt8]] = []
        while let line = try reader.next(until: 0x0A) { lines.append(Array(line)) }
        return lines
    }

    @Test(arguments: [1, 2, 3, 7, 64, 4096])
    func `Lines of any length are read completely`(bufferByteCount: Int) throws {
        let texts = ["", "a", "", String(repeating: "x", count: 1000), "é\u{0}", "end"]
        let bytes = Array(texts.joined(separator: "\n").utf8)
        let expected = texts.map { Array($0.utf8) }
        #expect(try lines(of: bytes, bufferByteCount: bufferByteCount) == expected)
        #expect(try lines(of: bytes + [0x0A], bufferByteCount: bufferByteCount) == expected)
        #expect(try lines(of: [], bufferByteCount: bufferByteCount) == [])
        #expect(try lines(of: [0x0A], bufferByteCount: bufferByteCount) == [[]])
    }

    @Test func `wasDelimited is true if the last line had a newline`() throws {
        let file = try TemporaryFile(Array("a\nb".utf8))
        let handle = try FileHandle(forReadingFrom: file.url)
        var reader = ByteReader(handle.fileDescriptor, name: "a file")
        _ = try reader.next(until: 0x0A)
        let first = reader.wasDelimited
        _ = try reader.next(until: 0x0A)
        let second = reader.wasDelimited
        #expect(first && !second)
    }

    @Test(arguments: [1, 3, 4096])
    func `Counted reads are exact, and an early end is an error`(bufferByteCount: Int) throws {
        let file = try TemporaryFile(Array("head\n0123456789tail".utf8))
        let handle = try FileHandle(forReadingFrom: file.url)
        var reader = ByteReader(
            handle.fileDescriptor,
            name: "a file",
            bufferByteCount: bufferByteCount
        )
        #expect(try reader.next(until: 0x0A).map { Array($0) } == Array("head".utf8))
        #expect(Array(try reader.next(count: 4)) == Array("0123".utf8))
        try reader.skip(count: 6)
        #expect(Array(try reader.next(count: 0)) == [])
        #expect(Array(try reader.next(count: 3)) == Array("tai".utf8))
        do {
            _ = try reader.next(count: 2)
            Issue.record("read beyond the end")
        } catch let error as CommandError {
            #expect(error.description == "a file ended before the announced number of bytes.")
        }
    }

    @Test func `The error names a descriptor that cannot be read`() throws {
        var reader = ByteReader(-1, name: "nothing.jsonl")
        do {
            _ = try reader.next(until: 0x0A)
            Issue.record("read from nowhere")
        } catch let error as CommandError {
            #expect(error.description == "nothing.jsonl cannot be read: Bad file descriptor.")
        }
    }
}

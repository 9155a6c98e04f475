// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One open file of a simulated file system.
final class SimulatedFile: LogFile {
    let path: String
    private let fileSystem: SimulatedFileSystem
    private let node: Int
    /// Tells this opening of the file from every other.
    private let number: Int
    private let isWritable: Bool
    private let isClosed = Atomic(false)

    init(
        fileSystem: SimulatedFileSystem,
        path: String,
        node: Int,
        number: Int,
        isWritable: Bool
    ) {
        self.fileSystem = fileSystem
        self.path = path
        self.node = node
        self.number = number
        self.isWritable = isWritable
    }

    deinit {
        close()
    }

    func close() {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        fileSystem.state.withLock { $0.disk.close(number) }
    }

    func byteCount() throws(FileError) -> UInt64 {
        try perform(call(.stat)) { state throws(FileError) in
            UInt64(state.disk.files[node]?.live.count ?? 0)
        }
    }

    func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(FileError) -> Int {
        let wanted = buffer.byteCount
        let call = call(.read, offset: offset, byteCount: wanted)
        let found = try perform(call) { state throws(FileError) -> ArraySlice<UInt8> in
            let range = try call.range(of: offset, byteCount: wanted)
            if let number = state.faults.readFailure(of: node, in: range) {
                throw call.failure(number)
            }
            return state.disk.files[node]?.live[clamping: range] ?? []
        }
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: found) }
        return found.count
    }

    func write(_ bytes: RawSpan, at offset: UInt64) throws(FileError) {
        let bytes = bytes.withUnsafeBytes { [UInt8]($0) }
        let call = call(.write, offset: offset, byteCount: bytes.count)
        let torn = { (state: inout SimulatedFileSystem.State, byteCount: Int) in
            guard let start = Int(exactly: offset) else { return }
            _ = state.disk.write(bytes.prefix(byteCount), to: self.node, at: start)
        }
        try perform(call, failing: torn) { state throws(FileError) in
            guard isWritable else { throw call.failure(EBADF) }
            let range = try call.range(of: offset, byteCount: bytes.count)
            try call.checkLength(range.upperBound)
            let written = state.disk.write(bytes[...], to: node, at: range.lowerBound)
            if written < bytes.count { throw call.failure(ENOSPC) }
        }
    }

    func sync() throws(FileError) {
        let giveUp = { (state: inout SimulatedFileSystem.State, _: Int) in
            state.disk.files[self.node]?.failSync() ?? ()
        }
        try perform(call(.sync), failing: giveUp) { state throws(FileError) in
            if !state.faults.ignoresThisCall { state.disk.files[node]?.sync() }
        }
    }

    func truncate(to byteCount: UInt64) throws(FileError) {
        let call = call(.truncate, offset: byteCount)
        try perform(call) { state throws(FileError) in
            guard isWritable else { throw call.failure(EINVAL) }
            let length = try call.range(of: byteCount, byteCount: 0).lowerBound
            try call.checkLength(length)
            state.disk.resize(node, to: length)
        }
    }

    func allocate(to byteCount: UInt64) throws(FileError) {
        let call = call(.allocate, offset: byteCount)
        try perform(call) { state throws(FileError) in
            let length = try call.range(of: byteCount, byteCount: 0).lowerBound
            let start = state.disk.files[node]?.live.count ?? 0
            guard start < length else { return }
            guard isWritable else { throw call.failure(EBADF) }
            try call.checkLength(length)
            guard length - start <= state.disk.freeByteCount else { throw call.failure(ENOSPC) }
            // Zeros that reached the medium and zeros that did not look the same, so that only
            // the length matters; two lengths on the way stand for all of them.
            let sector = SimulatedContent.sectorByteCount
            for part in 1...2 {
                let length = (start + (length - start) / 3 * part) / sector * sector
                if length > start { state.disk.resize(node, to: length) }
            }
            state.disk.resize(node, to: length)
        }
    }

    func lock(_ kind: FileLock) throws(FileError) -> Bool {
        try perform(call(.lock)) { state throws(FileError) in state.disk.lock(number, kind) }
    }

    func unlock() throws(FileError) {
        try perform(call(.lock)) { state throws(FileError) in state.disk.unlock(number) }
    }

    private func call(
        _ kind: FileError.Call,
        offset: UInt64? = nil,
        byteCount: Int? = nil
    ) -> SimulatedCall {
        SimulatedCall(kind, path, offset: offset, byteCount: byteCount)
    }

    private func perform<Answer: Sendable>(
        _ call: SimulatedCall,
        failing: (inout SimulatedFileSystem.State, Int) -> Void = { _, _ in },
        _ body: (inout SimulatedFileSystem.State) throws(FileError) -> Answer
    ) throws(FileError) -> Answer {
        precondition(
            !isClosed.load(ordering: .acquiring),
            "\(path) is used after it was closed"
        )
        return try fileSystem.perform(call, failing: failing, body)
    }
}

extension SimulatedCall {
    /// A range of bytes that a file could have.
    fileprivate func range(
        of offset: UInt64,
        byteCount: Int
    ) throws(FileError) -> Range<Int> {
        guard let start = Int(exactly: offset), start <= Int.max - byteCount else {
            throw failure(EFBIG)
        }
        return start..<(start + byteCount)
    }

    fileprivate func checkLength(_ byteCount: Int) throws(FileError) {
        if byteCount > SimulatedDisk.maximumFileByteCount { throw failure(EFBIG) }
    }
}

extension [UInt8] {
    /// As much of a range as there is.
    fileprivate subscript(clamping range: Range<Int>) -> ArraySlice<UInt8> {
        self[range.clamped(to: indices)]
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What tests do to a simulated disk that no program could do. None of it counts as a call.
extension SimulatedFileSystem {
    // MARK: Calls

    /// How many calls were made, those that failed and those after a stop included.
    package var callCount: Int { state.withLock { $0.faults.callCount } }

    /// How many calls of one kind were made.
    package func callCount(of kind: FileError.Call) -> Int {
        state.withLock { $0.faults.countByKind[kind, default: 0] }
    }

    /// How many bytes all reads wanted.
    package var readByteCount: Int { state.withLock { $0.faults.readByteCount } }

    /// The calls so far, up to a stop; empty if no trace is kept.
    package var trace: [SimulatedCall] { state.withLock { $0.faults.trace } }

    /// Makes a call fail: the n-th, from 1, of all calls or of one kind, counted from the file
    /// system's beginning.
    ///
    /// A call that fails for good takes all later ones (of its kind) with it. A failing write
    /// writes the first bytes that it is told to, all others do nothing.
    package func failCall(
        _ number: Int,
        of kind: FileError.Call? = nil,
        with errorNumber: Int32,
        forGood: Bool = false,
        writing byteCount: Int = 0
    ) {
        state.withLock {
            $0.faults.fail(
                number,
                of: kind,
                with: errorNumber,
                forGood: forGood,
                writing: byteCount
            )
        }
    }

    /// From the n-th call on, counted from 1, nothing happens any more and every call throws
    /// `stoppedErrorNumber`: the moment for ``crash(_:)``.
    package func stop(atCall number: Int) {
        state.withLock { $0.faults.stopsAt = number }
    }

    /// Lets the n-th `sync` (or `syncDirectory`), from 1, succeed and do nothing.
    package func ignoreSync(_ number: Int, of kind: FileError.Call = .sync) {
        state.withLock { _ = $0.faults.ignoredNumbers[kind, default: []].insert(number) }
    }

    /// Lets every `sync` (or `syncDirectory`) of the paths that match succeed and do nothing.
    ///
    /// The path is the one a file was opened by, also after it was renamed.
    package func ignoreSyncs(
        of kind: FileError.Call = .sync,
        where matches: @escaping @Sendable (String) -> Bool
    ) {
        state.withLock { $0.faults.ignoredPaths[kind, default: []].append(matches) }
    }

    /// Lets all calls go well again, reads included; damage done by `flipBit` stays.
    package func clearFaults() {
        state.withLock { $0.faults.clear() }
    }

    // MARK: The medium

    /// Sets the room for all files together; a full disk has space again when it is raised.
    package func setCapacity(_ byteCount: Int?) {
        state.withLock { $0.disk.capacity = byteCount }
    }

    /// Makes every read that touches a range of a file fail, until `clearFaults`.
    package func failReads(
        of path: String,
        in range: Range<Int>,
        with errorNumber: Int32
    ) throws(FileError) {
        try withFile(path) { state, node in
            state.faults.failReads(of: node, in: range, with: errorNumber)
        }
    }

    /// Sets the disk's clock, in milliseconds since 1970.
    package func setClock(_ now: Int64) {
        state.withLock { $0.disk.now = now }
    }

    /// Turns one bit (0 to 7, from the lowest) of a file over, on the medium and in memory.
    package func flipBit(_ path: String, at byteOffset: Int, bit: Int) throws(FileError) {
        try withFile(path) { state, node in state.disk.files[node]?.flipBit(bit, at: byteOffset) }
    }

    /// What a file holds, as a reader sees it.
    package func contents(of path: String) throws(FileError) -> [UInt8] {
        try withFile(path) { state, node in state.disk.files[node]?.live ?? [] }
    }

    /// Puts bytes in a file's place, durably and whatever was unsynced before; makes the file,
    /// also durably, if it is missing and its directory is there.
    package func setContents(of path: String, to bytes: [UInt8]) throws(FileError) {
        let call = SimulatedCall(.open, path)
        try state.withLock { state throws(FileError) in
            let (directory, name) = try call.unwrap(state.disk.place(of: path))
            let found = state.disk.directories[directory]?.live[name]
            let node = found ?? state.disk.makeFile(name, in: directory)
            guard state.disk.files[node] != nil else { throw call.failure(EISDIR) }
            state.disk.files[node] = SimulatedContent(durable: bytes, modified: state.disk.now)
            state.disk.syncNames { $0.directory == directory && $0.name == name }
        }
    }

    /// The contents of all files below a directory, by their paths.
    package func files(below directory: String) -> [String: [UInt8]] {
        state.withLock { $0.disk.files(below: directory) }
    }

    /// Lets files be as they were at an earlier moment, durably: an older copy comes back, and a file
    /// that was not there then goes away.
    ///
    /// Paths that match and are in neither state are left alone.
    package func bringBack(
        _ earlier: [String: [UInt8]],
        below directory: String,
        where matches: (String) -> Bool
    ) throws(FileError) {
        for path in files(below: directory).keys.sorted()
        where matches(path) && earlier[path] == nil {
            try withName(path) { state, directory, name in
                state.disk.change([.init(directory: directory, name: name, node: nil)])
                state.disk.syncNames { $0.directory == directory && $0.name == name }
            }
        }
        for (path, bytes) in earlier.sorted(by: { $0.key < $1.key }) where matches(path) {
            try setContents(of: path, to: bytes)
        }
    }

    private func withName(
        _ path: String,
        _ body: (inout State, Int, SimulatedDisk.Name) -> Void
    ) throws(FileError) {
        let call = SimulatedCall(.open, path)
        try state.withLock { state throws(FileError) in
            let (directory, name) = try call.unwrap(state.disk.place(of: path))
            body(&state, directory, name)
        }
    }

    private func withFile<Answer: Sendable>(
        _ path: String,
        _ body: (inout State, Int) -> Answer
    ) throws(FileError) -> Answer {
        let call = SimulatedCall(.open, path)
        return try state.withLock { state throws(FileError) in
            let node = try call.unwrap(state.disk.node(at: path))
            guard state.disk.files[node] != nil else { throw call.failure(EISDIR) }
            return body(&state, node)
        }
    }
}

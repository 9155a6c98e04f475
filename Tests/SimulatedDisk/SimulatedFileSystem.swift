// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
package import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file system in memory that knows what a power loss may take, and that fails on request.
///
/// It keeps two images: the *live* one, which every call sees, and the *durable* one. What lies
/// between them is at risk, by these rules, which are those of POSIX and what the usual
/// journalling file systems do within them:
///
/// - A sector of 512 bytes is written whole or not at all. Of a sector that was written several
///   times since the file's last `sync`, any one of those versions may survive, or the durable
///   one; each sector by itself, in any order.
/// - A file that grew since its last `sync` keeps its old length or any it had in between, also
///   in the middle of a write at a sector's border. Where the length survives and a sector does
///   not, there are zeros: never what another file held.
/// - Truncating below the length survives or not; nothing that was written after it survives
///   without it.
/// - `sync` makes a file's content and length durable, and not its name.
/// - A creation, rename or removal is durable after `syncDirectory` of its directory. Until then
///   each survives or not, in any combination, but for these: changes of the same name survive
///   in their order, and a rename is one change, also across directories. Syncing one of its two
///   directories makes both halves durable.
/// - A file whose name does not survive is gone, synced or not. A removed file whose removal does
///   not survive is back, with the content that its last `sync` left.
/// - After a failed `sync`, readers go on seeing what was written, and no later `sync` makes it
///   durable, except sectors that are written again.
/// - A link is one more entry for the same file, and at risk like a creation.
/// - Locks survive nothing.
///
/// Every call of the protocols is one call to the counts and faults below, `exists`,
/// `status` and `byteCount` as `stat`, `unlock` as `lock`; closing is none. Calls are one after another, so
/// that a workload on one thread meets the same numbers every time. Only the root directory
/// exists at first. Directories cannot be renamed or removed.
package final class SimulatedFileSystem: FileSystem {
    /// The error number of every call after ``stop(atCall:)``; no system has it.
    package static let stoppedErrorNumber: Int32 = -1

    struct State: Sendable {
        var disk: SimulatedDisk
        var faults: SimulatedFaults
    }

    let state: Lock<State>

    /// An empty disk.
    ///
    /// - Parameters:
    ///   - capacity: The room for all files together, in bytes, counted by their lengths.
    ///   - keepsTrace: Whether every call is remembered; costs memory with every call.
    package convenience init(capacity: Int? = nil, keepsTrace: Bool = true) {
        var disk = SimulatedDisk()
        disk.capacity = capacity
        self.init(disk: disk, keepsTrace: keepsTrace)
    }

    init(disk: SimulatedDisk, keepsTrace: Bool) {
        state = Lock(State(disk: disk, faults: SimulatedFaults(keepsTrace: keepsTrace)))
    }

    package func createDirectory(_ path: String) throws(FileError) {
        let call = SimulatedCall(.createDirectory, path)
        try perform(call) { state throws(FileError) in
            let (directory, name) = try call.unwrap(state.disk.place(of: path))
            guard let taken = state.disk.directories[directory]?.live[name] else {
                state.disk.makeDirectory(name, in: directory)
                return
            }
            if state.disk.directories[taken] == nil { throw call.failure(EEXIST) }
        }
    }

    package func open(_ path: String, _ mode: FileMode) throws(FileError) -> any LogFile {
        let call = SimulatedCall(.open, path)
        let (node, number) = try perform(call) { state throws(FileError) in
            let (directory, name) = try call.unwrap(state.disk.place(of: path))
            let found = state.disk.directories[directory]?.live[name]
            let node: Int
            if mode == .create {
                guard found == nil else { throw call.failure(EEXIST) }
                node = state.disk.makeFile(name, in: directory)
            } else {
                guard let found else { throw call.failure(ENOENT) }
                guard state.disk.files[found] != nil else { throw call.failure(EISDIR) }
                node = found
            }
            return (node, state.disk.open(node))
        }
        return SimulatedFile(
            fileSystem: self,
            path: path,
            node: node,
            number: number,
            isWritable: mode != .read
        )
    }

    package func exists(_ path: String) throws(FileError) -> Bool {
        try perform(SimulatedCall(.stat, path)) { state throws(FileError) in
            if case .success = state.disk.node(at: path) { return true }
            return false
        }
    }

    package func status(of path: String) throws(FileError) -> FileStatus? {
        try perform(SimulatedCall(.stat, path)) { state throws(FileError) in
            guard case .success(let node) = state.disk.node(at: path) else { return nil }
            let file = state.disk.files[node]
            return FileStatus(
                byteCount: UInt64(file?.live.count ?? 0),
                modified: file?.modified ?? 0
            )
        }
    }

    package func linkCount(of path: String) throws(FileError) -> Int {
        try perform(SimulatedCall(.stat, path)) { state throws(FileError) in
            guard case .success(let node) = state.disk.node(at: path) else { return 0 }
            return state.disk.directories.values.reduce(0) { count, directory in
                count + directory.live.values.count { $0 == node }
            }
        }
    }

    package func list(_ directory: String) throws(FileError) -> [String] {
        let call = SimulatedCall(.list, directory)
        return try perform(call) { state throws(FileError) in
            let node = try call.unwrap(state.disk.node(at: directory))
            guard let found = state.disk.directories[node] else { throw call.failure(ENOTDIR) }
            return found.live.keys.sorted(by: SimulatedDisk.precedes)
                .map { String(decoding: $0, as: UTF8.self) }
        }
    }

    package func rename(_ path: String, to target: String) throws(FileError) {
        let call = SimulatedCall(.rename, path, target: target)
        try perform(call) { state throws(FileError) in
            let (directory, name) = try call.unwrap(state.disk.place(of: path))
            let (newDirectory, newName) = try call.unwrap(state.disk.place(of: target))
            guard let node = state.disk.directories[directory]?.live[name] else {
                throw call.failure(ENOENT)
            }
            let replaced = state.disk.directories[newDirectory]?.live[newName]
            for node in [node, replaced ?? node] where state.disk.files[node] == nil {
                throw call.failure(EISDIR)
            }
            guard replaced != node else { return }
            state.disk.change([
                .init(directory: directory, name: name, node: nil),
                .init(directory: newDirectory, name: newName, node: node),
            ])
        }
    }

    package func link(_ path: String, to target: String) throws(FileError) {
        let call = SimulatedCall(.link, target)
        try perform(call) { state throws(FileError) in
            let node = try call.unwrap(state.disk.node(at: path))
            let (directory, name) = try call.unwrap(state.disk.place(of: target))
            guard state.disk.files[node] != nil else { throw call.failure(EPERM) }
            guard state.disk.directories[directory]?.live[name] == nil else {
                throw call.failure(EEXIST)
            }
            state.disk.change([.init(directory: directory, name: name, node: node)])
        }
    }

    package func remove(_ path: String) throws(FileError) {
        let call = SimulatedCall(.remove, path)
        try perform(call) { state throws(FileError) in
            let (directory, name) = try call.unwrap(state.disk.place(of: path))
            guard let node = state.disk.directories[directory]?.live[name] else {
                throw call.failure(ENOENT)
            }
            guard state.disk.files[node] != nil else { throw call.failure(EISDIR) }
            state.disk.change([.init(directory: directory, name: name, node: nil)])
        }
    }

    package func syncDirectory(_ path: String) throws(FileError) {
        let call = SimulatedCall(.syncDirectory, path)
        try perform(call) { state throws(FileError) in
            let node = try call.unwrap(state.disk.node(at: path))
            guard state.disk.directories[node] != nil else { throw call.failure(ENOTDIR) }
            guard !state.faults.ignoresThisCall else { return }
            state.disk.syncNames { $0.directory == node }
        }
    }

    /// Counts a call, and makes it unless it is to fail.
    ///
    /// `failing` is what a failing call does all the same, told how many bytes a failing write
    /// writes.
    func perform<Answer: Sendable>(
        _ call: SimulatedCall,
        failing: (inout State, Int) -> Void = { _, _ in },
        _ body: (inout State) throws(FileError) -> Answer
    ) throws(FileError) -> Answer {
        try state.withLock { state throws(FileError) in
            switch state.faults.admit(call) {
            case .proceed: return try body(&state)
            case .stopped: throw call.failure(Self.stoppedErrorNumber)
            case .fail(let number, let byteCount):
                failing(&state, byteCount)
                throw call.failure(number)
            }
        }
    }
}

extension SimulatedCall {
    func failure(_ number: Int32) -> FileError {
        FileError(call: kind, path: path, errorNumber: number)
    }

    func unwrap<Value>(_ found: Result<Value, PathFailure>) throws(FileError) -> Value {
        switch found {
        case .success(let value): return value
        case .failure(let reason): throw failure(reason.errorNumber)
        }
    }
}

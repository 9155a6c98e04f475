// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A tree of directories and files, live and durable: the value behind `SimulatedFileSystem`.
///
/// Files and directories are nodes with numbers; names are entries of directories, so that a
/// file outlives its name and a name can be lost without its file.
struct SimulatedDisk: Sendable {
    static let root = 0
    /// Longer files are refused, so that a wrong offset is an error and not all of the memory.
    static let maximumFileByteCount = 1 << 32

    var files: [Int: SimulatedContent] = [:]
    var directories: [Int: Directory] = [root: Directory()]
    /// Changes of names that are live and not durable, oldest first.
    var unsyncedNames: [NameChange] = []
    /// The room for all files together, counted by their lengths; no limit if absent.
    var capacity: Int?
    /// The disk's clock, in milliseconds since 1970: it stands still until it is set.
    var now: Int64 = 0
    private var nextNode = 1
    private var nextSerial = 0
    /// What each open file has open, and the lock it holds.
    private var openFiles: [Int: (node: Int, lock: FileLock?)] = [:]

    /// A name's UTF-8 bytes: names are compared as bytes, which strings are not.
    typealias Name = [UInt8]

    struct Directory: Sendable {
        var live: [Name: Int] = [:]
        var durable: [Name: Int] = [:]
    }

    /// One creation, removal or rename: the entries it sets, all of them or none.
    struct NameChange: Sendable {
        struct Entry: Sendable {
            var directory: Int
            var name: Name
            /// What the name stands for from then on; nothing after a removal.
            var node: Int?
        }

        let serial: Int
        let entries: [Entry]

        func touchesNames(of other: NameChange) -> Bool {
            entries.contains { entry in
                other.entries.contains {
                    $0.directory == entry.directory && $0.name == entry.name
                }
            }
        }
    }

    /// A number for the next change, in the order in which changes happen.
    mutating func takeSerial() -> Int {
        nextSerial += 1
        return nextSerial
    }

    private mutating func takeNode() -> Int {
        nextNode += 1
        return nextNode - 1
    }

    // MARK: Names

    /// The node at a path, or the error number that the system would answer with.
    func node(at path: String) -> Result<Int, PathFailure> {
        node(at: Self.components(of: path)[...])
    }

    private func node(at components: ArraySlice<Name>) -> Result<Int, PathFailure> {
        var node = Self.root
        for component in components {
            guard let directory = directories[node] else { return .failure(.notADirectory) }
            guard let next = directory.live[component] else { return .failure(.missing) }
            node = next
        }
        return .success(node)
    }

    /// The names in a path.
    ///
    /// Each call on a file splits a path, so no byte is visited in Swift, which is slow in a debug
    /// build.
    private static func components(of path: String) -> [Name] {
        var path = path
        return path.withUTF8 { bytes in
            var components: [Name] = []
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, !rest.isEmpty {
                let slash = memchr(start, Int32(UInt8(ascii: "/")), rest.count)
                let length = slash.map { start.distance(to: $0) } ?? rest.count
                let name = Name(UnsafeRawBufferPointer(start: start, count: length))
                if length > 0 && name != [UInt8(ascii: ".")] { components.append(name) }
                let taken = min(length + 1, rest.count)
                rest = UnsafeRawBufferPointer(start: start + taken, count: rest.count - taken)
            }
            return components
        }
    }

    /// The order of names, by their bytes.
    static func precedes(_ left: Name, _ right: Name) -> Bool {
        let order = memcmp(left, right, min(left.count, right.count))
        return order == 0 ? left.count < right.count : order < 0
    }

    /// The directory that a path's last component lies in, and that component.
    func place(of path: String) -> Result<(directory: Int, name: Name), PathFailure> {
        let components = Self.components(of: path)
        guard let name = components.last else { return .failure(.missing) }
        return node(at: components.dropLast()).flatMap { node in
            directories[node] == nil
                ? .failure(.notADirectory) : .success((node, name))
        }
    }

    /// The contents of the files below a directory, by their paths.
    func files(below path: String) -> [String: [UInt8]] {
        guard case .success(let node) = node(at: path), let directory = directories[node] else {
            return [:]
        }
        var found: [String: [UInt8]] = [:]
        for (name, node) in directory.live {
            let path = path + "/" + String(decoding: name, as: UTF8.self)
            if let file = files[node] {
                found[path] = file.live
            } else {
                found.merge(files(below: path)) { file, _ in file }
            }
        }
        return found
    }

    mutating func makeDirectory(_ name: Name, in directory: Int) {
        let node = takeNode()
        directories[node] = Directory()
        change([NameChange.Entry(directory: directory, name: name, node: node)])
    }

    mutating func makeFile(_ name: Name, in directory: Int) -> Int {
        let node = takeNode()
        files[node] = SimulatedContent(modified: now)
        change([NameChange.Entry(directory: directory, name: name, node: node)])
        return node
    }

    mutating func change(_ entries: [NameChange.Entry]) {
        unsyncedNames.append(NameChange(serial: takeSerial(), entries: entries))
        for entry in entries { directories[entry.directory]?.live[entry.name] = entry.node }
    }

    /// Makes the changes of some entries durable, together with all they rest on: the other half
    /// of a rename, and what happened before to the same names.
    mutating func syncNames(where matches: (NameChange.Entry) -> Bool) {
        var chosen: [NameChange] = []
        var left: [NameChange] = []
        for change in unsyncedNames.reversed() {
            if change.entries.contains(where: matches)
                || chosen.contains(where: { $0.touchesNames(of: change) })
            {
                chosen.append(change)
            } else {
                left.append(change)
            }
        }
        for entry in chosen.reversed().flatMap(\.entries) {
            directories[entry.directory]?.durable[entry.name] = entry.node
        }
        unsyncedNames = left.reversed()
        forgetUnreachable()
    }

    /// Forgets the files that have no name, live, durable or in between, and are not open.
    private mutating func forgetUnreachable() {
        var reachable = Set(openFiles.values.map(\.node))
        for directory in directories.values {
            reachable.formUnion(directory.live.values)
            reachable.formUnion(directory.durable.values)
        }
        reachable.formUnion(unsyncedNames.flatMap(\.entries).compactMap(\.node))
        files = files.filter { reachable.contains($0.key) }
    }

    // MARK: Open files

    mutating func open(_ node: Int) -> Int {
        let number = takeNode()
        openFiles[number] = (node, nil)
        return number
    }

    mutating func close(_ number: Int) {
        openFiles[number] = nil
    }

    mutating func lock(_ number: Int, _ kind: FileLock) -> Bool {
        guard let node = openFiles[number]?.node else { return false }
        let isRefused = openFiles.contains { other, file in
            guard other != number, file.node == node, let held = file.lock else { return false }
            return kind == .exclusive || held == .exclusive
        }
        openFiles[number] = (node, isRefused ? nil : kind)
        return !isRefused
    }

    mutating func unlock(_ number: Int) {
        openFiles[number]?.lock = nil
    }

    /// The same disk after every process that used it has ended.
    func withoutOpenFiles() -> SimulatedDisk {
        var disk = self
        disk.openFiles = [:]
        return disk
    }

    // MARK: Space

    /// How many bytes files can still grow by; open files without a name take space too.
    var freeByteCount: Int {
        guard let capacity else { return Self.maximumFileByteCount }
        var counted = Set(openFiles.values.map(\.node))
        for directory in directories.values { counted.formUnion(directory.live.values) }
        let used = counted.reduce(0) { $0 + (files[$1]?.live.count ?? 0) }
        return max(0, capacity - used)
    }

    /// Writes as much as there is room for, and says how much that was.
    mutating func write(_ bytes: ArraySlice<UInt8>, to node: Int, at offset: Int) -> Int {
        guard let length = files[node]?.live.count else { return 0 }
        let written = min(bytes.count, max(0, length + freeByteCount - offset))
        let serial = takeSerial()
        files[node]?.write(Array(bytes.prefix(written)), at: offset, serial: serial)
        files[node]?.modified = now
        return written
    }

    /// Cuts a file, or extends it with zeros that take no room from anybody.
    mutating func resize(_ node: Int, to byteCount: Int) {
        let serial = takeSerial()
        files[node]?.resize(to: byteCount, serial: serial)
        files[node]?.modified = now
    }
}

/// Why a path leads nowhere.
enum PathFailure: Error {
    case missing
    case notADirectory

    /// The system's number for it.
    var errorNumber: Int32 { self == .missing ? ENOENT : ENOTDIR }
}

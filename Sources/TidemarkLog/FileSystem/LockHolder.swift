// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The process that holds a lock on a file, if the system reports it.
package struct LockHolder: Hashable, Sendable, CustomStringConvertible {
    /// The process's number.
    package var process: Int32
    /// The process's name, at most 15 bytes of it.
    package var name: String?

    package init(process: Int32, name: String? = nil) {
        self.process = process
        self.name = name
    }

    package var description: String {
        name.map { "Process \(process) (\($0))" } ?? "Process \(process)"
    }

    /// True if the holder is this process.
    package var isThisProcess: Bool { process == getpid() }

    /// Finds the holder of an exclusive lock on an inode in Linux's table of locks (`/proc/locks`).
    ///
    /// A stacked file system may report another device there than elsewhere, so the device only
    /// decides between several files with one inode number. `nil` if no holder is found or visible
    /// from this process.
    init?(table: String, inode: UInt64, major: UInt32, minor: UInt32) {
        var found: [(device: Substring, process: Int32)] = []
        for line in table.split(separator: "\n") {
            // 1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF
            let words = line.split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK", words[3] == "WRITE",
                let process = Int32(words[4]), process > 0,
                let colon = words[5].lastIndex(of: ":"),
                UInt64(words[5][words[5].index(after: colon)...]) == inode
            else { continue }
            found.append((words[5][..<colon], process))
        }
        let device = "\(Self.hexadecimal(major)):\(Self.hexadecimal(minor))"
        let here = found.filter { $0.device == device }
        guard let holder = here.first ?? (found.count == 1 ? found[0] : nil) else { return nil }
        self.init(process: holder.process)
    }

    private static func hexadecimal(_ number: UInt32) -> String {
        let digits = String(number, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }
}

#if os(Linux)
extension LockHolder {
    /// Finds the process that has an open file locked exclusively.
    init?(ofFile descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, let table = Self.text("/proc/locks") else {
            return nil
        }
        let device = UInt64(status.st_dev)
        self.init(
            table: table,
            inode: UInt64(status.st_ino),
            major: UInt32(device >> 8 & 0xFFF),
            minor: UInt32(device & 0xFF | device >> 12 & 0xF_FF00)
        )
        name = Self.text("/proc/\(process)/comm").map { String($0.dropLast()) }
    }

    /// Reads a kernel file, whose length is not known in advance.
    private static func text(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        // Much longer than any table of locks.
        while bytes.count < 1 << 24 {
            let count = read(file, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
#endif

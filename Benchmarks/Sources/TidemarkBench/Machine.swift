// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Where the figures were measured.
struct Machine: Encodable {
    var processor = "unknown"
    var coreCount = ProcessInfo.processInfo.activeProcessorCount
    var memoryGiB = Double(ProcessInfo.processInfo.physicalMemory) / Double(1 << 30)
    var system = ProcessInfo.processInfo.operatingSystemVersionString
    var kernel = "unknown"
    var fileSystem = "unknown"
    /// The policy by which the system shares its processors.
    var scheduling = "ordinary"
    /// Runnable processes over the last minute when the run began: more than a little, and the
    /// figures say less.
    var loadBefore = 0.0

    /// Looks at the machine; the file system is that of the folder.
    init(_ folder: String) {
        kernel = Tool.output("uname", "-sr") ?? kernel
        #if os(Linux)
        let cpus = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let line = cpus.split(separator: "\n").first { $0.hasPrefix("model name") }
        processor =
            line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
            ?? processor
        let policy = sched_getscheduler(0)
        if policy == SCHED_FIFO || policy == SCHED_RR { scheduling = "real-time" }
        fileSystem = Tool.output("findmnt", "-n", "-o", "FSTYPE", "-T", folder) ?? fileSystem
        #else
        processor = Tool.output("sysctl", "-n", "machdep.cpu.brand_string") ?? processor
        fileSystem = Tool.output("stat", "-f", "%T", folder) ?? fileSystem
        #endif
        var loads = [0.0, 0.0, 0.0]
        if getloadavg(&loads, 3) > 0 { loadBefore = loads[0] }
    }
}

/// The versions of all that was measured or measured with.
struct Versions: Encodable {
    var tidemark = "unknown"
    var sqlite = "unknown"
    var rocksdb = "unknown"
    var lz4 = "unknown"
    var lmdb = "unknown"
    var swift = "unknown"

    /// Asks the tools that know.
    init(project: String) {
        tidemark = Tool.output("git", "-C", project, "describe", "--always", "--dirty") ?? tidemark
        sqlite = Tool.output("pkg-config", "--modversion", "sqlite3") ?? sqlite
        rocksdb = Tool.output("pkg-config", "--modversion", "rocksdb") ?? rocksdb
        lz4 = Tool.output("pkg-config", "--modversion", "liblz4") ?? lz4
        lmdb = Tool.output("pkg-config", "--modversion", "lmdb") ?? lmdb
        let lines = Tool.output("swift", "--version")?.split(separator: "\n")
        swift = lines?.first.map(String.init) ?? swift
    }
}

/// Another program's output.
enum Tool {
    /// The driver that counts, which is built beside this program; `nil` where it is not or where
    /// nothing is counted.
    static func drive(_ task: String...) -> String? {
        guard let program = Bundle.main.executableURL else { return nil }
        let drive = program.deletingLastPathComponent().appendingPathComponent("tidemark-drive")
        return output([drive.path] + task)
    }

    /// What it printed, trimmed; `nil` if it failed or printed nothing.
    static func output(_ words: String...) -> String? { output(words) }

    private static func output(_ words: [String]) -> String? {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
        return process.terminationStatus == 0 && !text.isEmpty ? text : nil
    }
}

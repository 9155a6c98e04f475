// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The system's copy of files in memory.
enum PageCache {
    /// Asks the system to forget the files of a folder, and checks that it did.
    ///
    /// No process may have them mapped. Only where there is `posix_fadvise`; elsewhere "cold" says
    /// only that the process is fresh.
    static func drop(_ folder: String) throws {
        #if os(Linux)
        var resident = 0
        var total = 0
        for path in files(folder) {
            let descriptor = open(path, O_RDONLY)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            fsync(descriptor)
            posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
            let counts = try residentPages(descriptor)
            resident += counts.resident
            total += counts.total
        }
        guard resident * 50 <= total else {
            throw WrongAnswer("\(resident) of \(total) pages of \(folder) stay in the page cache")
        }
        #endif
    }

    private static func files(_ folder: String) -> [String] {
        guard let walk = FileManager.default.enumerator(atPath: folder) else { return [] }
        return walk.compactMap { $0 as? String }.map { folder + "/" + $0 }.filter { path in
            var isDirectory: ObjCBool = false
            let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            return exists && !isDirectory.boolValue
        }
    }

    #if os(Linux)
    private static func residentPages(_ descriptor: Int32) throws -> (resident: Int, total: Int) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return (0, 0) }
        let byteCount = Int(status.st_size)
        let total = (byteCount + 4095) / 4096
        let map = mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0)
        guard let map, map != MAP_FAILED else { throw WrongAnswer("cannot map a file: \(errno)") }
        defer { munmap(map, byteCount) }
        var flags = [UInt8](repeating: 0, count: total)
        guard mincore(map, byteCount, &flags) == 0 else { throw WrongAnswer("mincore: \(errno)") }
        return (flags.count { $0 & 1 == 1 }, total)
    }
    #endif
}

/// This process's memory.
enum Memory {
    /// The most it ever had resident.
    static func peakMiB() -> Double {
        // On Linux `getrusage` also counts what the parent had when it started this process.
        if let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kibibytes = Double(line.filter(\.isNumber))
        {
            return kibibytes / 1024
        }
        var usage = rusage()
        #if os(Linux)
        getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_maxrss) / 1024
        #else
        getrusage(RUSAGE_SELF, &usage)
        return Double(usage.ru_maxrss) / Double(1 << 20)
        #endif
    }
}

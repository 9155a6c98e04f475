// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Makes the written bytes of a file durable, and returns zero or -1.
func sync(_ descriptor: Int32) -> Int32 {
    #if os(Linux)
    fdatasync(descriptor)
    #else
    fcntl(descriptor, F_FULLFSYNC)
    #endif
}

/// What the disk takes for one small durable write: the floor under every durable save.
///
/// It writes 1 KiB after another into a file that was filled with zeros and synced before, and
/// calls `fdatasync` after each; a growing file would take longer.
final class SyncProbe {
    private let descriptor: Int32
    private let writeCount: Int
    private let bytes = [UInt8](repeating: 0xA5, count: 1024)

    init(_ folder: String, writeCount: Int) throws {
        self.writeCount = writeCount
        descriptor = open(folder + "/sync-probe", O_RDWR | O_CREAT, 0o644)
        guard descriptor >= 0 else { throw WrongAnswer("cannot create the sync probe: \(errno)") }
        let zeros = [UInt8](repeating: 0, count: 1024 * writeCount)
        guard write(descriptor, zeros, zeros.count) == zeros.count, fsync(descriptor) == 0 else {
            throw WrongAnswer("cannot fill the sync probe: \(errno)")
        }
    }

    deinit { close(descriptor) }

    /// The median in microseconds, write included, without the pause before each write.
    func median(pause: Duration = .zero) throws -> Double {
        var times: [Double] = []
        for index in 0..<writeCount {
            let end = ContinuousClock.now + pause
            while ContinuousClock.now < end {}
            let start = ContinuousClock.now
            guard pwrite(descriptor, bytes, bytes.count, off_t(index * bytes.count)) == bytes.count
            else { throw WrongAnswer("the sync probe cannot write: \(errno)") }
            let status = sync(descriptor)
            times.append(start.microsecondsUntilNow)
            guard status == 0 else { throw WrongAnswer("the sync probe cannot sync: \(errno)") }
        }
        return times.median
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
import Foundation
import Testing
import TidemarkLog

/// The questions of a sync to the kernel.
@Suite struct SyncedTimesTests {
    // A kernel that was asked for a file's times gives the next write a time of its own, and the sync
    // after it then writes the inode too. Unasked, it takes the time of its last tick.
    @Test func `A sync does not ask for the times of its file`() throws {
        try FileSystemUnderTest.posix.withFolder { files, folder in
            let path = folder + "/a"
            let file = try files.open(path, .create)
            // A tick may come between the two writes, but hardly ever each time.
            let hasOldTime = try (0..<200).contains { _ in
                _ = try modificationTime(of: path)
                try file.write([1], at: 0)
                try file.sync()
                var now = timespec()
                try #require(clock_gettime(CLOCK_REALTIME, &now) == 0)
                try file.write([2], at: 0)
                try file.sync()
                let time = try modificationTime(of: path)
                return (time.tv_sec, time.tv_nsec) < (now.tv_sec, now.tv_nsec)
            }
            #expect(hasOldTime)
        }
    }

    private func modificationTime(of path: String) throws -> timespec {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status.st_mtim
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkLog

/// Who has a file locked.
@Suite struct LockHolderTests {
    private let table = """
        1: FLOCK  ADVISORY  WRITE 11 fe:00:131 0 EOF
        2: POSIX  ADVISORY  WRITE 12 fe:00:132 0 EOF
        3: FLOCK  ADVISORY  READ  13 fe:00:132 0 EOF
        3: -> FLOCK  ADVISORY  WRITE 14 fe:00:132 0 EOF
        4: FLOCK  ADVISORY  WRITE 15 08:1f:132 0 EOF
        5: FLOCK  ADVISORY  WRITE 16 08:02:133 0 EOF
        6: FLOCK  ADVISORY  WRITE 17 08:03:133 0 EOF
        7: FLOCK  ADVISORY  WRITE 0 08:03:134 0 EOF
        8: nonsense
        """

    @Test(
        arguments: [
            (131, 0xFE, 0, 11),
            (132, 8, 0x1F, 15),
            // Of another device by that name, and the only one.
            (132, 0, 0x2A, 15),
            (133, 8, 3, 17),
            (133, 8, 4, nil),
            // In a namespace that cannot be seen.
            (134, 8, 3, nil),
            (1, 8, 3, nil),
        ] as [(UInt64, UInt32, UInt32, Int32?)]
    )
    func `The lock table is parsed`(inode: UInt64, major: UInt32, minor: UInt32, process: Int32?) {
        let holder = LockHolder(table: table, inode: inode, major: major, minor: minor)
        #expect(holder?.process == process)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/locks"), "no table of locks"))
    func `A lock of the same process is found`() throws {
        let folder = try ScratchFolder()
        let files = PosixFileSystem()
        let file = try files.open("\(folder.url.path)/LOCK", .create)
        #expect(file.lockHolder() == nil)
        #expect(try file.lock(.exclusive))
        let other = try files.open("\(folder.url.path)/LOCK", .readWrite)
        let holder = try #require(other.lockHolder())
        #expect(holder.isThisProcess)
        #expect(holder.name?.isEmpty == false)
        try file.unlock()
        #expect(other.lockHolder() == nil)
    }
}

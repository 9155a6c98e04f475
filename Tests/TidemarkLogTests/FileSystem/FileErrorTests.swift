// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TidemarkLog

@Suite struct FileErrorTests {
    @Test func `The error of a full disk has a remedy`() {
        let error = FileError(call: .write, path: "/a/b", errorNumber: ENOSPC)
        #expect(error.description.hasPrefix("pwrite of /a/b failed: "))
        #expect(error.description.contains("(error \(ENOSPC))"))
        #expect(error.description.hasSuffix(" Free space on that disk, then try again."))
        #expect(error.isOutOfSpace)
        #expect(!error.isMissing)
    }

    @Test(arguments: [
        ENOSPC, EDQUOT, EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, EEXIST, EIO, EMFILE,
        ENFILE, EFBIG, ELOOP, ENAMETOOLONG, EXDEV, EOPNOTSUPP, ENOLCK,
    ])
    func `Errors with a remedy name it`(_ number: Int32) throws {
        let text = FileError(call: .open, path: "/x", errorNumber: number).description
        let number = try #require(text.firstRange(of: "(error \(number)). "))
        #expect(text[number.upperBound...].hasSuffix("."))
        #expect(text[number.upperBound...].count > 10)
    }

    @Test func `A folder that cannot be created says that the one above it is missing`() {
        let error = FileError(call: .createDirectory, path: "/a/b", errorNumber: ENOENT)
        #expect(error.description.contains(" The folder above it does not exist. "))
        let read = FileError(call: .read, path: "/a/b", errorNumber: ENOENT)
        #expect(read.description.hasSuffix(" Nothing exists at this path. Check the path."))
    }

    @Test func `Unknown errors have a description`() {
        let known = FileError(call: .sync, path: "/x", errorNumber: EBADF).description
        #expect(known == "fdatasync of /x failed: \(String(cString: strerror(EBADF))) (error 9).")
        let unknown = FileError(call: .sync, path: "/x", errorNumber: 99_999).description
        #expect(unknown.hasSuffix("(error 99999)."))
    }
}

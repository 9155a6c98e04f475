// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The user and the group that a file belongs to.
package struct FileOwner: Hashable, Sendable {
    private let user: uid_t
    private let group: gid_t

    init(_ status: stat) {
        user = status.st_uid
        group = status.st_gid
    }

    /// Gives the owner a file or directory that root has just created; does nothing for other users.
    ///
    /// A store that root has written to stays usable for the user it belongs to. If the file system
    /// keeps no owners, the file stays root's.
    package func receive(_ path: String, in directory: Int32 = AT_FDCWD) {
        // Only root may give files away.
        guard geteuid() == 0, user != 0 else { return }
        _ = fchownat(directory, path, user, group, AT_SYMLINK_NOFOLLOW)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The users of the machine that may read the files of a store; only the owner may write them.
///
/// The process's umask applies as usual.
public struct FilePermissions: Hashable, Sendable {
    /// The mode of directories.
    package let mode: UInt32
    /// The owner to whom root gives what it creates; `nil` for root itself.
    package private(set) var fileOwner: FileOwner?

    /// The owner: directories 0700, files 0600.
    public static let owner = FilePermissions(mode: 0o700)
    /// The owner and the owner's group: 0750 and 0640.
    public static let group = FilePermissions(mode: 0o750)
    /// Every user of the machine: 0755 and 0644.
    public static let everyone = FilePermissions(mode: 0o755)

    /// Takes the read permissions from a mode.
    package init(mode: UInt32) { self.mode = 0o700 | mode & 0o055 }

    /// Takes the read permissions and the owner of a directory.
    package init(mode: UInt32, owner: FileOwner) {
        self.init(mode: mode)
        fileOwner = owner
    }

    /// The mode of files.
    package var fileMode: UInt32 { mode & 0o666 }
}

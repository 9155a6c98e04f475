// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A store's folder that a command may be about to create.
struct NewFolder {
    private let path: String
    /// True if the path did not exist before the command.
    private let wasFree: Bool

    /// Looks at a path before a store is opened there.
    init(_ path: String) {
        self.path = path
        var status = stat()
        // `lstat`: a link that leads nowhere was made by somebody, so its name is not free.
        wasFree = lstat(path, &status) != 0 && errno == ENOENT
    }

    /// Removes the folder of a store, if this command created it and nothing was ever committed to
    /// it.
    ///
    /// The store must be open, so that its lock is held. The folder is moved away first, so no
    /// other process can have written to it before, or find it afterwards. Closing the store then
    /// fails; ignore that error.
    func remove(_ store: Store) {
        // If the position cannot be read, the folder stays.
        guard wasFree, (try? store.position(atOrBefore: .max)) == .zero else { return }
        var target = path
        // With its slash, the new name would be inside the folder, and no folder can be moved into
        // itself.
        while target.count > 1, target.hasSuffix("/") { target.removeLast() }
        target += ".removed-\(UInt64.random(in: .min ... .max))"
        guard rename(path, target) == 0 else { return }
        // The path is free again at this point. If the removal fails, the renamed folder stays.
        try? FileManager.default.removeItem(atPath: target)
    }
}

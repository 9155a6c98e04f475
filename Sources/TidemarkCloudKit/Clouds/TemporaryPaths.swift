// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import TidemarkLock

/// The files and folders that this process has made for a while: none of them outlives it.
package final class TemporaryPaths: Sendable {
    /// The temporary paths of the process.
    ///
    /// Paths that are left when the process exits are removed then.
    package static let ofProcess: TemporaryPaths = {
        // A C function cannot capture the object. It reads this property, which is complete by
        // then.
        atexit { TemporaryPaths.ofProcess.removeAll() }
        return TemporaryPaths(lingering: 60)
    }()

    private let paths = Lock<Set<String>>([])
    private let seconds: Double

    /// Creates an empty set of paths.
    ///
    /// - Parameter seconds: The delay before ``removeSoon(_:)`` removes a path.
    init(lingering seconds: Double) {
        self.seconds = seconds
    }

    /// Records a path before a file or folder is created there.
    package func add(_ path: String) {
        paths.withLock { _ = $0.insert(path) }
    }

    /// Removes the file or folder at a path.
    package func remove(_ path: String) {
        // Forgotten only after it was removed: an exit in between removes it a second time, which
        // does no harm.
        try? FileManager.default.removeItem(atPath: path)
        paths.withLock { _ = $0.remove(path) }
    }

    /// Removes the file or folder at a path after a while, or when the process exits.
    func removeSoon(_ path: String) {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + seconds) {
            self.remove(path)
        }
    }

    /// Removes all paths.
    func removeAll() {
        // A copy: `remove` takes the lock itself.
        for path in paths.withLock({ $0 }) { remove(path) }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Tidemark

/// The temporary stores of processes that were killed.
enum AbandonedStores {
    private static let prefix = "cloudkit-"
    private static let suffix = ".tide"
    /// The seconds for which a changed folder is left alone: a process that creates a store has
    /// locked it by then.
    static let graceSeconds = 60.0

    /// Returns the path of a new temporary store.
    static func newPath(in folder: String) -> String {
        folder + prefix + UUID().uuidString + suffix
    }

    /// Removes abandoned stores from the folder for temporary files, once per process, in the
    /// background.
    static let sweepOnce: Void = DispatchQueue.global(qos: .utility).async {
        sweep(NSTemporaryDirectory())
    }

    /// Removes the temporary stores in a folder that no process has open and that have not changed
    /// of late.
    static func sweep(_ folder: String, now: Date = Date()) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where isTemporary(name) {
            let path = (folder as NSString).appendingPathComponent(name)
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            // The lock shows that no process uses the store. It does not show that one is about to:
            // a process first makes the folder, then locks the store in it. Hence the age.
            guard let changed = attributes?[.modificationDate] as? Date,
                attributes?[.type] as? FileAttributeType == .typeDirectory,
                changed.addingTimeInterval(graceSeconds) < now, !Store.hasWriter(at: path)
            else { continue }
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    /// Returns true if a name has the form that ``newPath(in:)`` generates.
    private static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(prefix) && name.hasSuffix(suffix)
            && UUID(uuidString: String(name.dropFirst(prefix.count).dropLast(suffix.count))) != nil
    }
}

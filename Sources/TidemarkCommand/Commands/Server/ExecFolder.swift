// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Tidemark

/// The folder for the stores of one `tidemark exec`.
struct ExecFolder {
    let path: String

    private static let prefix = "tidemark-exec-"
    /// The seconds after its last change during which a folder is not touched: a process that
    /// creates a store has locked it by then.
    private static let graceSeconds = 60.0

    /// Makes a folder with a name of its own among the temporary files, readable by its owner alone.
    ///
    /// One that is to be kept has a name that no ``sweep(_:now:)`` takes for an abandoned one.
    init(isKept: Bool) throws {
        let name = (isKept ? "tidemark-kept-" : Self.prefix) + UUID().uuidString
        path = (NSTemporaryDirectory() as NSString).appendingPathComponent(name)
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw CommandError(
                "The folder \(path) cannot be created: \(error.localizedDescription) TMPDIR names another place."
            )
        }
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Removes the folders of runs that were killed: those whose stores no process has open, and
    /// that have not changed of late.
    static func sweep(_ folder: String = NSTemporaryDirectory(), now: Date = Date()) {
        let files = FileManager.default
        for name in (try? files.contentsOfDirectory(atPath: folder)) ?? []
        where isTemporary(name) {
            let path = (folder as NSString).appendingPathComponent(name)
            let attributes = try? files.attributesOfItem(atPath: path)
            let stores = (try? files.contentsOfDirectory(atPath: path)) ?? []
            guard let changed = attributes?[.modificationDate] as? Date,
                // Folders for temporary files are shared by all users. A link of this name must not
                // lead to the removal of something else.
                attributes?[.type] as? FileAttributeType == .typeDirectory,
                changed.addingTimeInterval(graceSeconds) < now,
                // The lock is the proof: the system releases it when a process ends, also one that
                // was killed.
                !stores.contains(where: { Store.hasWriter(at: path + "/" + $0) })
            else { continue }
            // A run at the same time may sweep too, so a folder that is gone is no error.
            try? files.removeItem(atPath: path)
        }
    }

    private static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(prefix) && UUID(uuidString: String(name.dropFirst(prefix.count))) != nil
    }
}
#endif

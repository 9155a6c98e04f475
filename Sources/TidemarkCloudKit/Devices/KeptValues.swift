// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkLock

/// The values that a device stores by name, in one file of its folder.
final class KeptValues: Sendable {
    private let file: URL
    private let values: Lock<[String: Data]?>

    init(_ name: String, in folder: DeviceFolder) {
        file = folder.url.appendingPathComponent(name).appendingPathExtension("plist")
        values = Lock(nil)
    }

    /// The value under a name; `nil` if there is none.
    subscript(name: String) -> Data? {
        values.withLock { values in
            // Read once. Values that another process writes later are not seen, and the next change
            // overwrites them: a device's folder belongs to one process.
            let all = values ?? Self.read(file)
            values = all
            return all[name]
        }
    }

    /// Changes values, and writes all of them.
    ///
    /// Values that cannot be written are lost when the process ends.
    func change(_ body: (inout [String: Data]) -> Void) {
        values.withLock { values in
            var all = values ?? Self.read(file)
            body(&all)
            values = all
            // Under the lock, so that the file is replaced in the order of the changes.
            if let data = try? PropertyListEncoder().encode(all) {
                try? DeviceFile.write(data, to: file)
            }
        }
    }

    private static func read(_ file: URL) -> [String: Data] {
        guard let data = DeviceFile.read(file) else { return [:] }
        return (try? PropertyListDecoder().decode([String: Data].self, from: data)) ?? [:]
    }
}

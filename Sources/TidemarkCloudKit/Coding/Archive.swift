// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The encoding of every type of this module in a keyed archive: one property list under one key.
///
/// Foundation's unarchiver on Linux traps if a key is missing or a class is nested. So each object
/// writes a single `NSData`, whose content is read by a decoder that throws instead. A record has
/// its own byte format, because programs keep thousands of them.
extension NSCoder {
    private static let archiveKey = "TidemarkArchive"

    /// Writes the content of an object.
    func encode(archive content: some Encodable) {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        guard let data = try? encoder.encode(content) else { return }
        encode(NSData(data: data), forKey: Self.archiveKey)
    }

    /// Reads the content of an object; `nil` if the archive contains something else.
    func archive<Content: Decodable>(of type: Content.Type) -> Content? {
        guard allowsKeyedCoding, containsValue(forKey: Self.archiveKey),
            let data = archivedBytes
        else { return nil }
        return try? PropertyListDecoder().decode(type, from: data)
    }

    private var archivedBytes: Data? {
        // Foundation stops the program if the value is an object of another class.
        if let object = KeyedObject(self) { return object.data(Self.archiveKey) }
        return decodeObject(of: NSData.self, forKey: Self.archiveKey)
            .map { Data(referencing: $0) }
    }
}

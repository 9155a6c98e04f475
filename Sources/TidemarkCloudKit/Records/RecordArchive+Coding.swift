// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSCoder {
    private static let recordKey = "TidemarkRecord"

    /// Writes a record.
    ///
    /// Its bytes are text in base 64: Foundation on Linux copies data byte by byte, several times,
    /// which takes five times as long as text.
    func encode(_ record: RecordArchive) {
        let text = Data(record.bytes).base64EncodedString()
        encode(NSString(string: text), forKey: Self.recordKey)
    }

    /// The record in the archive; `nil` if the archive contains something else.
    ///
    /// Reads this module's current and earlier forms, and system fields that Apple's framework
    /// wrote.
    var recordArchive: RecordArchive? {
        guard allowsKeyedCoding else { return nil }
        guard containsValue(forKey: Self.recordKey) else {
            return archive(of: RecordArchive.self) ?? RecordArchive(KeyedObject(self))
        }
        return archivedText.flatMap { Data(base64Encoded: $0) }
            .flatMap { RecordArchive(bytes: Array($0)) }
    }

    private var archivedText: String? {
        // Foundation stops the program if the value is an object of another class.
        if let object = KeyedObject(self) { return object.string(Self.recordKey) }
        return decodeObject(of: NSString.self, forKey: Self.recordKey).map { $0 as String }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The numbers that keep encrypted dates exact, although services keep times to the millisecond.
///
/// Apple's service does not look into encrypted fields, so programs get back the exact date that
/// they saved, and compare it with their own. Two devices that differ by less than a millisecond
/// would each see the other's record as a different one. So an encrypted date between two
/// milliseconds has an encrypted number with it, which programs do not see. The number is used if
/// it names the same millisecond as the date. So a client that does not know the number only
/// changes the date.
///
/// In production only declared fields can be saved, and no schema declares these numbers. There,
/// dates are kept to the millisecond.
enum ExactDates {
    private static let suffix = "_tidemarkExactDate"

    /// Returns the number for a date and the name of its field; `nil` for a date that needs none.
    static func beside(_ key: String, _ date: Date) -> (key: String, value: FieldValue)? {
        // A field's name has at most 255 bytes, and the suffix must fit.
        guard let milliseconds = try? date.milliseconds, Date(milliseconds: milliseconds) != date,
            key.utf8.count + suffix.utf8.count <= 255
        else { return nil }
        let bits = Int64(bitPattern: date.timeIntervalSinceReferenceDate.bitPattern)
        return (key + suffix, .int64(bits))
    }

    /// Returns the name of the number for a date.
    static func key(beside key: String) -> String { key + suffix }

    /// Replaces dates by their exact numbers, removes the numbers, and returns the fields that had
    /// one.
    static func take(into fields: inout [String: RecordContent.Field]) -> Set<String> {
        var keys: Set<String> = []
        // The loop iterates over a copy of the dictionary, so it may remove entries.
        for (name, field) in fields where field.isEncrypted && name.hasSuffix(suffix) {
            fields[name] = nil
            let key = String(name.dropLast(suffix.count))
            keys.insert(key)
            // The field is in the result even if its number is useless: the next save has to
            // replace or remove that number.
            guard case .integer(let bits) = field.value, let beside = fields[key],
                beside.isEncrypted, case .date(let date) = beside.value
            else { continue }
            let exact = Date(
                timeIntervalSinceReferenceDate: Double(bitPattern: UInt64(bitPattern: bits))
            )
            guard let same = try? exact.milliseconds == date.milliseconds, same else { continue }
            fields[key]?.value = .date(exact)
        }
        return keys
    }
}

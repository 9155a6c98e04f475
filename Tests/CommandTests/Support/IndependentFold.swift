// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a change stream comes to, folded by code that shares nothing with the project: Foundation's
/// JSON reader and a dictionary.
struct IndependentFold {
    /// A record as it should be exported, but for its tag.
    struct Record: Equatable {
        var type: String
        var fields: NSDictionary
        var created: Int64
        var modified: Int64
        var modifiedUser: String
    }

    /// A record's name and its zone's; ordered as UTF-8 bytes.
    struct Place: Hashable, Comparable {
        var zone: Data
        var name: Data

        init(zone: String, name: String) {
            self.zone = Data(zone.utf8)
            self.name = Data(name.utf8)
        }

        static func < (lhs: Place, rhs: Place) -> Bool {
            lhs.zone == rhs.zone
                ? lhs.name.lexicographicallyPrecedes(rhs.name)
                : lhs.zone.lexicographicallyPrecedes(rhs.zone)
        }
    }

    private(set) var records: [Place: Record] = [:]
    /// Deletions of what was not there.
    private(set) var missingDeletes = 0
    private(set) var changes = 0
    private(set) var lastTime = Int64.min

    /// Takes in one line.
    mutating func add(_ line: some DataProtocol) throws {
        guard
            let object = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any],
            let time = object["time"] as? Int64, let user = object["user"] as? String,
            let changes = object["changes"] as? [[String: Any]]
        else { throw CocoaError(.coderReadCorrupt) }
        lastTime = max(lastTime, time)
        self.changes += changes.count
        for change in changes {
            guard let zone = change["zone"] as? String, let name = change["recordName"] as? String
            else { throw CocoaError(.coderReadCorrupt) }
            let place = Place(zone: zone, name: name)
            if change["op"] as? String == "delete" {
                if records.removeValue(forKey: place) == nil { missingDeletes += 1 }
                continue
            }
            guard let type = change["recordType"] as? String,
                let fields = change["fields"] as? [String: Any]
            else { throw CocoaError(.coderReadCorrupt) }
            records[place] = Record(
                type: type,
                fields: fields as NSDictionary,
                created: records[place]?.created ?? lastTime,
                modified: lastTime,
                modifiedUser: user
            )
        }
    }

    /// Compares with exported lines: the first difference in words, or `nil`.
    func difference(from exported: [Substring]) throws -> String? {
        let expected = records.sorted { $0.key < $1.key }
        guard expected.count == exported.count else {
            return "\(exported.count) records were exported; \(expected.count) are right"
        }
        for (line, (place, record)) in zip(exported, expected) {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            guard let object, let found = Self.record(object) else {
                return "not a record: \(line)"
            }
            guard found.place == place, found.record == record else {
                return "exported \(line), expected \(record)"
            }
        }
        return nil
    }

    private static func record(_ object: [String: Any]) -> (place: Place, record: Record)? {
        guard let zone = object["zone"] as? String, let name = object["recordName"] as? String,
            let type = object["recordType"] as? String,
            let fields = object["fields"] as? [String: Any],
            let created = object["created"] as? [String: Any],
            let modified = object["modified"] as? [String: Any],
            let createdTime = created["timestamp"] as? Int64,
            let modifiedTime = modified["timestamp"] as? Int64,
            let user = modified["userRecordName"] as? String,
            object["recordChangeTag"] is String
        else { return nil }
        let record = Record(
            type: type,
            fields: fields as NSDictionary,
            created: createdTime,
            modified: modifiedTime,
            modifiedUser: user
        )
        return (Place(zone: zone, name: name), record)
    }
}

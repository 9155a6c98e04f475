// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Keyed archives of the form that Apple's framework writes, made by hand: Docs/formats/archives.md.
struct AppleArchive {
    /// The objects of the archive; others refer to them by their numbers.
    var objects: [Any] = ["$null"]
    /// The values and references at the top of the archive.
    var top: [String: Any] = [:]

    /// A reference to the object with a number.
    static func reference(_ number: Int) -> [String: Any] { ["CF$UID": number] }

    static var null: [String: Any] { reference(0) }

    /// Adds an object and refers to it.
    mutating func add(_ object: Any) -> [String: Any] {
        objects.append(object)
        return Self.reference(objects.count - 1)
    }

    /// Adds an object of a class.
    mutating func add(_ fields: [String: Any], of className: String) -> [String: Any] {
        let type = add(["$classname": className, "$classes": [className, "NSObject"]])
        return add(fields.merging(["$class": type]) { own, _ in own })
    }

    mutating func zoneID(_ name: String, of owner: String) -> [String: Any] {
        let (name, owner) = (add(name), add(owner))
        return add(
            [
                "ZoneName": name, "ownerName": owner, "anonymousCKUserID": Self.null,
                "databaseScopeKey": 0,
            ],
            of: "CKRecordZoneID"
        )
    }

    mutating func recordID(_ name: String, in zone: [String: Any]) -> [String: Any] {
        let name = add(name)
        return add(["RecordName": name, "ZoneID": zone], of: "CKRecordID")
    }

    mutating func date(_ seconds: Double) -> [String: Any] {
        add(["NS.time": seconds], of: "NSDate")
    }

    /// The system fields of a record that the service knows.
    static func systemFields(
        _ name: String = "n1",
        zone: String = "Notes",
        owner: String = "__defaultOwner__",
        tag: String? = "mfxf03to"
    ) -> AppleArchive {
        var archive = AppleArchive()
        let zoneID = archive.zoneID(zone, of: owner)
        let users = archive.zoneID("_defaultZone", of: "__defaultOwner__")
        let user = archive.recordID("__defaultOwner__", in: users)
        for key in ["ParentReference", "ShareReference", "ProtectionData", "ShareEtag", "URL"] {
            archive.top[key] = Self.null
        }
        archive.top["RecordType"] = archive.add("Note")
        archive.top["RecordID"] = archive.recordID(name, in: zoneID)
        archive.top["ETag"] = tag.map { archive.add($0) } ?? Self.null
        archive.top["RecordCtime"] = archive.date(780_376_728.161)
        archive.top["RecordMtime"] = archive.date(780_376_729.5)
        archive.top["CreatorUserRecordID"] = user
        archive.top["LastModifiedUserRecordID"] = user
        archive.top["ModifiedByDevice"] = archive.add("A phone")
        archive.top["KnownToServer"] = true
        archive.top["Expired"] = false
        archive.top["Permission"] = 0
        return archive
    }

    /// The archive as a binary property list.
    var data: Data {
        get throws {
            let archive: [String: Any] = [
                "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": top,
                "$objects": objects,
            ]
            // The reader of XML turns a dictionary under CF$UID into a reference.
            let text = try PropertyListSerialization.data(
                fromPropertyList: archive,
                format: .xml,
                options: 0
            )
            let list = try PropertyListSerialization.propertyList(from: text, format: nil)
            return try PropertyListSerialization.data(
                fromPropertyList: list,
                format: .binary,
                options: 0
            )
        }
    }
}

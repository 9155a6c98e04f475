// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

// Archives that Apple's framework wrote. Docs/formats/archives.md has the sources of the keys.

extension CKRecordZoneID.Archive {
    init?(_ apple: KeyedObject?) {
        guard let name = apple?.string("ZoneName"), let owner = apple?.string("ownerName") else {
            return nil
        }
        self.init(name: name, owner: owner)
    }
}

extension CKRecordID.Archive {
    init?(_ apple: KeyedObject?) {
        guard let name = apple?.string("RecordName"),
            let zone = CKRecordZoneID.Archive(apple?.object("ZoneID", "CKRecordZoneID"))
        else { return nil }
        self.init(name: name, zone: zone)
    }
}

extension CKReference.Archive {
    init?(_ apple: KeyedObject?) {
        guard let apple,
            let record = CKRecordID.Archive(apple.object("RecordID", "CKRecordID"))
        else { return nil }
        // Any other number is read as `none`: a wrong `deleteSelf` would delete the record with its
        // target.
        self.init(record: record, action: apple.integer("ReferenceAction") == 1 ? 1 : 0)
    }
}

/// Registers the classes for the names in Apple's archives with Foundation's unarchiver.
///
/// Runs before `main`, because Objective-C's runtime knows the names by then: a program may
/// unarchive an ID before any other call to this module.
@section(".init_array") @used
private let registersAppleNames: @convention(c) () -> Void = {
    NSKeyedUnarchiver.setClass(CKRecordID.self, forClassName: "CKRecordID")
    NSKeyedUnarchiver.setClass(CKRecordZoneID.self, forClassName: "CKRecordZoneID")
    NSKeyedUnarchiver.setClass(CKReference.self, forClassName: "CKReference")
    NSKeyedUnarchiver.setClass(CKServerChangeToken.self, forClassName: "CKServerChangeToken")
}

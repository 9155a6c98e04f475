// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CKError {
    /// An error as it is stored on disk, with the entries that programs look up.
    struct Archive: Codable {
        /// The error of one item.
        struct Item: Codable {
            var record: CKRecordID.Archive?
            var zone: CKRecordZoneID.Archive?
            var text: String?
            var error: Archive
        }

        var code: Int
        /// The values of `userInfo` that are texts.
        var texts: [String: String]
        /// The values of `userInfo` that are numbers.
        var numbers: [String: Double]
        /// The values of `userInfo` that are records, as Foundation archives them.
        var records: [String: Data]
        var items: [Item]
    }

    var archived: Archive {
        var archive = Archive(code: errorCode, texts: [:], numbers: [:], records: [:], items: [])
        for (key, value) in userInfo {
            switch value {
            case let record as CKRecord: archive.records[key] = record.archivedData
            case let text as String: archive.texts[key] = text
            case let number as NSNumber: archive.numbers[key] = number.doubleValue
            // Other values have no form in the archive, and no program looks them up in a stored
            // error.
            default: break
            }
        }
        for (id, error) in partialErrorsByItemID ?? [:] {
            archive.items.append(
                Archive.Item(
                    record: (id.base as? CKRecord.ID)?.archived,
                    zone: (id.base as? CKRecordZone.ID)?.archived,
                    text: id.base as? String,
                    error: CKError(asking: error).archived
                )
            )
        }
        return archive
    }

    init(_ archive: Archive) {
        var userInfo: [String: Any] = archive.texts
        for (key, number) in archive.numbers { userInfo[key] = NSNumber(value: number) }
        for (key, data) in archive.records { userInfo[key] = CKRecord.unarchived(data) }
        var errors: [AnyHashable: any Error] = [:]
        for item in archive.items {
            let error = CKError(item.error)
            if let record = item.record { errors[CKRecord.ID(record)] = error }
            if let zone = item.zone { errors[CKRecordZone.ID(zone)] = error }
            if let text = item.text { errors[text] = error }
        }
        if !errors.isEmpty { userInfo[CKPartialErrorsByItemIDKey] = errors }
        self.init(Code(rawValue: archive.code) ?? .internalError, userInfo: userInfo)
    }
}

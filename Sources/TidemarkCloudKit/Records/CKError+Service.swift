// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

extension CKError {
    /// Creates the error of a failed request, from an error of this module or of the service.
    init(asking error: any Error) {
        switch error {
        case let error as CKError: self = error
        case let error as SyncError: self.init(error)
        case is CancellationError: self.init(.operationCancelled, "The operation was cancelled.")
        default: self.init(.internalError, "\(error)")
        }
    }

    /// Creates the error for a failure that the service reports.
    ///
    /// `client` is the record to save, as the program has it. `met` are the records of the service
    /// in a conflict, with the files of their assets. In records of the service, `reader` is the
    /// current user.
    init(
        _ error: SyncError,
        client: CKRecord? = nil,
        met: ConflictingRecords? = nil,
        seenBy reader: UserID? = nil
    ) {
        var userInfo = Self.userInfo(error)
        if let conflict = error.conflict {
            userInfo[CKRecordChangedErrorServerRecordKey] =
                met?.server ?? CKRecord.make(conflict.server, seenBy: reader)
            userInfo[CKRecordChangedErrorClientRecordKey] =
                client ?? CKRecord.make(conflict.client, seenBy: reader)
            userInfo[CKRecordChangedErrorAncestorRecordKey] =
                met?.ancestor ?? conflict.ancestor.map { CKRecord.make($0, seenBy: reader) }
                ?? conflict.emptyAncestor
        }
        if !error.partialErrors.isEmpty {
            var items: [AnyHashable: any Error] = [:]
            for item in error.partialErrors {
                items[item.item.itemID] = CKError(item.error, seenBy: reader)
            }
            userInfo[CKPartialErrorsByItemIDKey] = items
        }
        // The codes of both types have the same numbers.
        self.init(Code(rawValue: error.code.rawValue) ?? .internalError, userInfo: userInfo)
    }
}

extension ConflictRecords {
    /// The ancestor of a record that was never saved, without fields; `nil` for any other record.
    ///
    /// Programs unwrap all three records before they merge.
    fileprivate var emptyAncestor: CKRecord? {
        guard client.changeTag == nil else { return nil }
        return CKRecord(recordType: client.recordType, recordID: CKRecordID(client.recordID))
    }
}

extension SyncError.Item {
    /// The key of the item in `partialErrorsByItemID`.
    fileprivate var itemID: AnyHashable {
        switch self {
        case .record(let id): CKRecordID(id)
        case .zone(let id): CKRecordZoneID(id)
        case .subscription(let id): id
        }
    }
}

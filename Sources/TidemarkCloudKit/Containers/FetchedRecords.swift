// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

extension Session {
    /// Returns a record of the service for a program: with the files of its assets.
    ///
    /// Throws `assetNotAvailable` if one of them is not available.
    func fetched(
        _ model: Record,
        _ progress: (Double) -> Void = { _ in }
    ) async throws(CKError) -> CKRecord {
        let record = CKRecord.make(model, seenBy: caller.user)
        let assets = record.assets
        for (index, item) in assets.enumerated() {
            let request = DownloadAssetRequest(
                model.recordID,
                field: item.key,
                element: item.element,
                // In a shared database only the latest version's bytes are available.
                changeTag: caller.database.scope == .shared ? nil : model.changeTag
            )
            let file = try await transfer { (service, caller, pulse) async throws(SyncError) in
                try await TemporaryFile.download(request, from: service, as: caller, pulse)
            }
            // If a later asset fails, the record is released, and the files that it has are
            // removed.
            item.asset.wasFetched(to: file)
            progress(Double(index + 1) / Double(assets.count))
        }
        return record
    }
}

extension Session {
    /// Returns the records of a conflict for a program.
    ///
    /// Throws if a file of the server's record cannot be fetched. Then the save can be repeated,
    /// and the program does not merge without the file. An ancestor whose files are gone is
    /// returned without them, because no program saves an ancestor.
    func fetched(_ conflict: ConflictRecords) async throws(CKError) -> ConflictingRecords {
        let server = try await fetched(conflict.server)
        guard let ancestor = conflict.ancestor else {
            return ConflictingRecords(server: server, ancestor: nil)
        }
        do throws(CKError) {
            return ConflictingRecords(server: server, ancestor: try await fetched(ancestor))
        } catch {
            let record = CKRecord.make(ancestor, seenBy: caller.user)
            record.takeFiles(from: server)
            return ConflictingRecords(server: server, ancestor: record)
        }
    }
}

extension CKRecord {
    /// Takes the files of assets that both records have.
    func takeFiles(from other: CKRecord) {
        let files = other.assets.compactMap { item in item.asset.model.map { ($0, item.asset) } }
        for (_, _, asset) in assets {
            guard let held = files.first(where: { $0.0 == asset.model })?.1 else { continue }
            asset.takeFile(of: held)
        }
    }
}

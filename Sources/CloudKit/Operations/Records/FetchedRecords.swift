// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark

extension Session {
    /// A record of the service as a program gets it: with the files of its assets.
    ///
    /// Throws `assetNotAvailable` if one of them cannot be had.
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
                // In a shared database only the latest version's can be had.
                changeTag: caller.database.scope == .shared ? nil : model.changeTag
            )
            let file = try await call { (service, caller) async throws(SyncError) in
                try await TemporaryFile.download(request, from: service, as: caller)
            }
            item.asset.wasFetched(to: file)
            progress(Double(index + 1) / Double(assets.count))
        }
        return record
    }
}

extension CKRecord {
    /// Takes over the files of assets that both records have.
    func takeFiles(from other: CKRecord) {
        let files = other.assets.compactMap { item in item.asset.model.map { ($0, item.asset) } }
        for (_, _, asset) in assets {
            guard let held = files.first(where: { $0.0 == asset.model })?.1 else { continue }
            asset.takeFile(of: held)
        }
    }
}

/// A file that lives as long as the asset that has it.
final class TemporaryFile: Sendable {
    let url: URL

    init(at url: URL) {
        self.url = url
    }

    convenience init() {
        let folder = URL(fileURLWithPath: NSTemporaryDirectory())
        self.init(at: folder.appendingPathComponent("cloudkit-asset-\(UUID().uuidString)"))
    }

    deinit {
        // It may have been moved: then it is the program's.
        try? FileManager.default.removeItem(at: url)
    }

    /// Writes the bytes of an asset into a new file.
    static func download(
        _ request: DownloadAssetRequest,
        from service: any DatabaseService,
        as caller: Caller
    ) async throws(SyncError) -> TemporaryFile {
        let download = try await service.downloadAsset(request, as: caller)
        let file = TemporaryFile()
        guard FileManager.default.createFile(atPath: file.url.path, contents: nil),
            let handle = try? FileHandle(forWritingTo: file.url)
        else { throw file.notWritten() }
        defer { try? handle.close() }
        var pieces = download.makeAsyncIterator()
        while let piece = try await pieces.next() {
            do {
                try handle.write(contentsOf: Data(piece))
            } catch {
                throw file.notWritten()
            }
        }
        return file
    }

    private func notWritten() -> SyncError {
        SyncError(
            .assetNotAvailable,
            "The file \(url.path) for a fetched asset could not be written; is there space?"
        )
    }
}

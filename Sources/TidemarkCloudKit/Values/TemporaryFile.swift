// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The file of a fetched asset, which stays for a while after the asset is gone.
///
/// Programs often keep only the URL, and an optimized build releases an asset after its last use,
/// which is before the file is read.
final class TemporaryFile: Sendable {
    let url: URL
    private let paths: TemporaryPaths

    init(at url: URL, in paths: TemporaryPaths = .ofProcess) {
        self.url = url
        self.paths = paths
        paths.add(url.path)
    }

    convenience init() {
        let folder = URL(fileURLWithPath: NSTemporaryDirectory())
        self.init(at: folder.appendingPathComponent("cloudkit-asset-\(UUID().uuidString)"))
    }

    deinit {
        // If the program has moved the file, it is the program's.
        paths.removeSoon(url.path)
    }

    /// Writes the bytes of an asset into a new file.
    static func download(
        _ request: DownloadAssetRequest,
        from service: any DatabaseService,
        as caller: Caller,
        _ pulse: Pulse
    ) async throws(SyncError) -> TemporaryFile {
        let download = try await service.downloadAsset(request, as: caller)
        let file = TemporaryFile()
        // From its creation on: other users share the folder for temporary files.
        let isPrivate: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard
            FileManager.default.createFile(
                atPath: file.url.path,
                contents: nil,
                attributes: isPrivate
            ),
            let handle = try? FileHandle(forWritingTo: file.url)
        else { throw file.notWritten() }
        defer { try? handle.close() }
        var pieces = download.makeAsyncIterator()
        // If this throws, `file` is released, and its `deinit` removes what was written.
        while let piece = try await pieces.next() {
            pulse.beat()
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
            "The file \(url.path) for a fetched asset could not be written. Check that the disk "
                + "has free space."
        )
    }
}

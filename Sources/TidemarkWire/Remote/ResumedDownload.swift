// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A download that resumes after a lost connection at the next byte of the same version of the
/// record.
actor ResumedDownload<Transport: ServiceTransport> {
    private let transport: Transport
    private let caller: Caller
    private let patience: Patience
    private var request: DownloadAssetRequest
    private var pieces: AssetDownload?
    private let end: UInt64
    private let byteCount: UInt64
    private var offset: UInt64

    init(
        _ first: AssetDownload,
        of request: DownloadAssetRequest,
        over transport: Transport,
        as caller: Caller,
        _ patience: Patience
    ) {
        self.transport = transport
        self.caller = caller
        self.patience = patience
        self.request = request
        // Pins the version: a resumed download must not continue in the asset of a newer one.
        self.request.changeTag = first.changeTag ?? request.changeTag
        pieces = first
        byteCount = first.byteCount
        end = first.range.upperBound
        offset = first.range.lowerBound
    }

    /// Returns the next piece; `nil` after the last.
    func next() async throws(SyncError) -> [UInt8]? {
        try await patience.repeating { () throws(SyncError) in try await piece() }
    }

    private func piece() async throws(SyncError) -> [UInt8]? {
        let open = try await opened()
        do throws(SyncError) {
            // An iterator continues where the last one ended, because all of them read from one
            // source.
            var iterator = open.makeAsyncIterator()
            let piece = try await iterator.next()
            offset += UInt64(piece?.count ?? 0)
            // The other side announced the range and sends the pieces. Bytes behind the range would
            // make `opened` form a range whose end is before its start, which traps.
            guard piece == nil ? offset == end : offset <= end else {
                throw .unreadable("The bytes of an asset are not as many as announced.")
            }
            return piece
        } catch {
            // The next attempt opens the download again, after the bytes that were received. Any
            // other error, such as damaged bytes, ends it.
            if error.isLostConnection { pieces = nil }
            throw error
        }
    }

    private func opened() async throws(SyncError) -> AssetDownload {
        if let pieces { return pieces }
        request.range = offset..<end
        let rest = try await transport.downloadAsset(request, as: caller)
        // A server that does not pin the version could continue in another asset. A different size
        // shows that.
        guard rest.byteCount == byteCount else {
            throw SyncError(
                .assetNotAvailable,
                "Field '\(request.fieldName)' of record '\(request.recordID.recordName)' got "
                    + "another asset while its bytes were being downloaded.",
                remedy: "Fetch the record and download its asset again."
            )
        }
        pieces = rest
        return rest
    }
}

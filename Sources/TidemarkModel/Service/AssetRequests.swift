// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Sends the bytes of an asset, before the save that names it.
public struct UploadAssetRequest: Hashable, Codable, Sendable {
    /// The zone of the record that will name the asset; its database stores the bytes.
    public var zone: ZoneID
    /// The hash and size that the client announces in advance.
    ///
    /// The bytes are refused if they differ.
    public var announced: AssetReference?

    /// Creates a request.
    public init(zone: ZoneID = .default, announced: AssetReference? = nil) {
        self.zone = zone
        self.announced = announced
    }
}

/// A request for the assets whose bytes the database already holds and that need not be sent.
public struct HeldAssetsRequest: Hashable, Codable, Sendable {
    /// The zone of the records that will name the assets.
    public var zone: ZoneID
    /// The assets.
    public var assets: [AssetReference]

    /// Creates a request.
    public init(_ assets: [AssetReference], zone: ZoneID = .default) {
        self.assets = assets
        self.zone = zone
    }
}

/// A request for the bytes of an asset that a record names.
public struct DownloadAssetRequest: Hashable, Codable, Sendable {
    /// The record.
    public var recordID: RecordID
    /// The version of the record that names it; `nil` for the latest.
    public var changeTag: RecordChangeTag?
    /// The field.
    public var fieldName: String
    /// The index of the asset, if the field is a list of assets.
    public var element: Int
    /// The bytes that are wanted, cut at the asset's end; `nil` for all.
    public var range: Range<UInt64>?

    /// Creates a request.
    public init(
        _ recordID: RecordID,
        field fieldName: String,
        element: Int = 0,
        changeTag: RecordChangeTag? = nil,
        range: Range<UInt64>? = nil
    ) {
        self.recordID = recordID
        self.fieldName = fieldName
        self.element = element
        self.changeTag = changeTag
        self.range = range
    }
}

/// The bytes of an asset for a client, piece by piece.
///
/// They can be read once. The last piece is returned only if the whole asset matches its checksum;
/// otherwise `assetNotAvailable` is thrown in its place.
public struct AssetDownload: AsyncSequence, Sendable {
    /// A piece.
    public typealias Element = [UInt8]
    /// The error that ends the sequence.
    public typealias Failure = SyncError

    /// The size of the whole asset.
    public let byteCount: UInt64
    /// The range of the asset's bytes that the response contains.
    public let range: Range<UInt64>
    /// The version of the record that names the asset; `nil` if the request named no record.
    ///
    /// An interrupted download resumes under this version.
    public let changeTag: RecordChangeTag?
    private let next: @Sendable () async throws(SyncError) -> [UInt8]?

    /// Wraps a source of pieces, which returns one after another, and `nil` after the last.
    public init(
        byteCount: UInt64,
        range: Range<UInt64>,
        changeTag: RecordChangeTag? = nil,
        next: @escaping @Sendable () async throws(SyncError) -> [UInt8]?
    ) {
        self.byteCount = byteCount
        self.range = range
        self.changeTag = changeTag
        self.next = next
    }

    /// An iterator over the pieces.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let take: @Sendable () async throws(SyncError) -> [UInt8]?

        /// Returns the next piece; `nil` after the last.
        public mutating func next() async throws(SyncError) -> [UInt8]? {
            try await take()
        }

        /// Returns the next piece; `nil` after the last.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(SyncError) -> [UInt8]? {
            try await take()
        }
    }

    /// Begins to read the pieces, or continues.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(take: next)
    }

    /// Returns all pieces together.
    public func bytes() async throws(SyncError) -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await next() { bytes += piece }
        return bytes
    }
}

extension DatabaseService {
    /// Sends the bytes of an asset that are all in memory.
    public func uploadAsset(
        _ bytes: [UInt8],
        _ request: UploadAssetRequest = UploadAssetRequest(),
        as caller: Caller
    ) async throws(SyncError) -> AssetReference {
        let (pieces, end) = AsyncStream.makeStream(of: [UInt8].self)
        end.yield(bytes)
        end.finish()
        return try await uploadAsset(pieces, request, as: caller)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
public import TidemarkModel

/// Requests the assets whose bytes a database holds, in the order of their checksums.
public struct AssetsCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "assets"
    /// See `AdministrationCall`.
    public typealias Answer = [HeldAsset]

    /// The database.
    public var database: DatabaseID

    /// Describes the call.
    public init(of database: DatabaseID) {
        self.database = database
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> [HeldAsset] {
        try administration.store.assets(of: database).map { HeldAsset($0) }
    }
}

/// An asset whose bytes a store has.
public struct HeldAsset: Codable, Hashable, Sendable {
    /// The asset.
    public var asset: AssetReference
    /// The time of the last upload, in milliseconds since 1970.
    public var modified: Int64
    /// The file of the bytes, on the machine of the store.
    public var path: String

    /// Describes an asset of a store.
    public init(_ stored: StoredAsset) {
        asset = AssetReference(checksum: stored.checksum, byteCount: stored.byteCount)
        modified = stored.modified
        path = stored.path
    }
}

/// Bytes of an asset; as JSON, a string in base64url without padding.
public struct AssetPiece: Codable, Hashable, Sendable {
    /// The bytes.
    public var bytes: [UInt8]

    /// Holds bytes.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a string.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        bytes = []
        guard Base64.decode(text.utf8, .urlWithoutPadding, into: &bytes) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "the string is not base64url"
            )
        }
    }

    /// Writes a string.
    public func encode(to encoder: any Encoder) throws {
        var text: [UInt8] = []
        bytes.withUnsafeBufferPointer { Base64.encode($0, .urlWithoutPadding, into: &text) }
        var container = encoder.singleValueContainer()
        try container.encode(String(decoding: text, as: UTF8.self))
    }
}

/// Requests the bytes of an asset of a database.
public struct AssetBytesCall: StoreCall {
    /// See `AdministrationCall`.
    public static let name = "asset"
    /// See `AdministrationCall`; the last piece comes only if all bytes are sound.
    public typealias Piece = AssetPiece

    /// The asset.
    public var asset: AssetReference
    /// The database that holds the bytes.
    public var database: DatabaseID

    /// Describes the call.
    public init(of asset: AssetReference, in database: DatabaseID) {
        self.asset = asset
        self.database = database
    }

    /// See `StoreCall`.
    public func answer(
        from administration: StoreAdministration,
        receive: (AssetPiece) async throws -> Void
    ) async throws -> Nothing {
        for try await bytes in try administration.store.openAsset(asset, of: database) {
            try await receive(AssetPiece(bytes))
        }
        return Nothing()
    }
}

/// Stores the bytes of an asset: for a database, or as its user, who must be allowed to.
public struct UploadAssetCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "asset-put"
    /// See `AdministrationCall`.
    public var writes: Bool { true }
    /// See `AdministrationCall`.
    public typealias Answer = AssetReference

    /// The most bytes of an asset in a call, whose body is in memory as a whole.
    public static let byteLimit = 16 << 20

    /// The bytes.
    public var bytes: AssetPiece
    /// The database, for an upload that no user makes.
    public var database: DatabaseID?
    /// The user and the database, for the upload of a user.
    public var caller: Caller?
    /// The zone in which the user will save the asset.
    public var request: UploadAssetRequest?

    /// Describes an upload for a database.
    public init(_ bytes: [UInt8], in database: DatabaseID) {
        self.bytes = AssetPiece(bytes)
        self.database = database
    }

    /// Describes the upload of a user.
    public init(_ bytes: [UInt8], _ request: UploadAssetRequest, as caller: Caller) {
        self.bytes = AssetPiece(bytes)
        self.request = request
        self.caller = caller
    }

    /// The call without the bytes.
    public var recorded: UploadAssetCall {
        var call = self
        call.bytes = AssetPiece([])
        return call
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> AssetReference {
        let store = try administration.store
        if let caller {
            return try await store.uploadAsset(
                bytes.bytes,
                request ?? UploadAssetRequest(),
                as: administration.vouching(for: caller)
            )
        }
        let (pieces, end) = AsyncStream.makeStream(of: [UInt8].self)
        end.yield(bytes.bytes)
        end.finish()
        return try await store.storeAsset(pieces, in: database ?? .standard)
    }
}

/// Removes the bytes of old assets that no version of any record names.
public struct CollectAssetsCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "asset-collect"
    /// See `AdministrationCall`.
    public var writes: Bool { true }
    /// See `AdministrationCall`.
    public typealias Answer = [HeldAsset]

    /// True to find the assets without removing them.
    public var isDryRun: Bool

    /// Describes the call.
    public init(isDryRun: Bool = false) {
        self.isDryRun = isDryRun
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> [HeldAsset] {
        try await administration.store.collectAssets(isDryRun: isDryRun).map { HeldAsset($0) }
    }
}

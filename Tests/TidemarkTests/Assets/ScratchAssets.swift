// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TidemarkEvents
import TidemarkLock
import TidemarkLog
import TidemarkModel
import TidemarkViews

@testable import Tidemark

/// A store on a simulated disk, and short ways to say what tests do with its assets.
///
/// The store and the disk have one clock, which stands still until a test sets it.
final class ScratchAssets: Sendable {
    static let day: Int64 = 24 * 60 * 60 * 1000

    let disk: SimulatedFileSystem
    /// What the store has for a disk.
    let files: HookedFileSystem
    let store: Store
    private let environment: StoreEnvironment
    private let clock = Clock()

    private final class Clock: Sendable {
        let time = Lock<Int64>(1_700_000_000_000)
    }

    /// Opens what is on a disk, or makes it on a new one.
    init(
        _ disk: SimulatedFileSystem = SimulatedFileSystem(keepsTrace: false),
        options: StoreOptions = StoreOptions(),
        isInline: Bool = true
    ) throws {
        let index = MemoryViewIndex()
        var environment = StoreEnvironment()
        files = HookedFileSystem(disk)
        environment.log.fileSystem = files
        environment.log.writesInline = isInline
        environment.log.now = { [clock] in clock.time.withLock { $0 } }
        environment.log.uptime = nil
        environment.openIndex = { _, _, _ in index }
        self.disk = disk
        self.environment = environment
        disk.setClock(clock.time.withLock { $0 })
        store = try Store.open(
            at: "s",
            access: .creating,
            options: options,
            environment: environment
        )
    }

    /// Opens the store once more, for reading.
    func reading() throws -> Store {
        let index = MemoryViewIndex()
        var environment = environment
        environment.openIndex = { _, _, _ in index }
        return try Store.open(at: "s", access: .reading, environment: environment)
    }

    /// Lets time pass, in milliseconds.
    func wait(_ time: Int64) {
        disk.setClock(
            clock.time.withLock { now in
                now += time
                return now
            }
        )
    }

    /// A client of the standard database's default zone.
    func client(
        _ user: String? = "_anna",
        of database: DatabaseID = .standard,
        zone: ZoneID = .default
    ) -> Client {
        Client(
            store: store,
            caller: Caller(database: database, user: user.map { UserID($0) }),
            zone: zone
        )
    }

    /// Where an asset's file is.
    func path(of asset: AssetReference, in database: DatabaseID = .standard) throws -> String {
        try store.parts.reader.blobs.path(of: HeldBlob(asset.blob, of: BlobHolder(database)))
    }
}

extension Client {
    func upload(_ bytes: [UInt8]) async throws -> AssetReference {
        try await store.uploadAsset(bytes, UploadAssetRequest(zone: zone), as: caller)
    }

    /// Saves a record with an asset in the field `file`; the outcome.
    func attach(_ asset: AssetReference, to name: String) async throws -> Result<Record, SyncError>
    {
        try await modify([try save(name, ["file": .asset(asset)], policy: .changedKeys)]).saves[0]
    }

    func download(
        _ name: String,
        field: String = "file",
        element: Int = 0,
        tag: RecordChangeTag? = nil,
        range: Range<UInt64>? = nil
    ) async throws -> [UInt8] {
        let request = DownloadAssetRequest(
            id(name),
            field: field,
            element: element,
            changeTag: tag,
            range: range
        )
        return try await store.downloadAsset(request, as: caller).bytes()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// A manifest on disk: a file header, then one frame for each set of edits, each synced alone.
///
/// `CURRENT` names the valid manifest, and is changed by a rename. Each open of the store writes a
/// new manifest that begins with a snapshot, so that a lock on a manifest shows which opening a
/// reader belongs to.
final class ManifestFile: Sendable {
    let number: UInt64
    private let file: any LogFile
    private let header: FileHeader
    private let state: Lock<State>

    private struct State {
        var manifest: Manifest
        var offset: UInt64
        var chain: UInt64
        /// The length of the file in bytes.
        var byteCount: UInt64
        /// The failure after which nothing more is written.
        var failure: LogError?
    }

    /// The current state of the manifest.
    var manifest: Manifest { state.withLock { $0.manifest } }

    /// Creates a manifest that begins with a snapshot; it is durable but not yet current.
    init(
        creating manifest: Manifest,
        number: UInt64,
        in folder: StoreFolder,
        environment: LogEnvironment
    ) throws(LogError) {
        self.number = number
        var header = FileHeader(
            kind: .manifest,
            store: manifest.store,
            incarnation: manifest.line.current,
            first: SequenceNumber(rawValue: number),
            created: environment.now(),
            salt: environment.random()
        )
        let edits = manifest.snapshot
        let needed = Layout.fileHeaderByteCount + edits.count * ManifestEdit.byteCount
        header.allocatedByteCount = UInt64(needed + Layout.manifestByteCount)
        self.header = header
        let path = folder.manifest(number)
        let fileSystem = environment.fileSystem
        let made = try LogError.wrapping { () throws(FileError) -> any LogFile in
            // Left by an open that ended before `CURRENT` named it.
            if try fileSystem.exists(path) { try fileSystem.remove(path) }
            let file = try fileSystem.open(path, .create)
            try file.write(header.encoded().span.bytes, at: 0)
            // `write(edits)` below syncs header, zeros and snapshot together.
            try file.allocate(to: header.allocatedByteCount)
            return file
        }
        file = made
        var fresh = manifest
        // The log may grow from here on. Without a new closing entry, the next open treats the stop
        // as unclean.
        fresh.closing = nil
        state = Lock(
            State(
                manifest: fresh,
                offset: UInt64(header.framesOffset),
                chain: header.chain,
                byteCount: header.allocatedByteCount
            )
        )
        try write(edits)
    }

    /// Appends edits and makes them durable, all or nothing.
    func append(_ edits: [ManifestEdit]) throws(LogError) {
        try append { _ in edits }
    }

    /// Does the same with edits that depend on the current state.
    func append(_ made: (Manifest) -> [ManifestEdit]) throws(LogError) {
        try state.withLock { (state) throws(LogError) in
            let edits = made(state.manifest)
            // The edits are applied to a copy. If the write fails, the state in memory stays that
            // of the last synced frame.
            var next = state.manifest
            for edit in edits {
                // A reader would reject such an edit as one of a newer version, and the store could
                // not be opened.
                guard next.apply(edit) else {
                    preconditionFailure("edit \(edit) does not fit the manifest")
                }
            }
            try write(edits, state: &state)
            state.manifest = next
        }
    }

    /// Reserves space for the edits of a few segments and the given number of others, so that a
    /// full disk is detected now and not when they are written.
    func reserve(editCount: Int = 0) throws(LogError) {
        let byteCount = UInt64(editCount * ManifestEdit.byteCount)
        try state.withLock { (state) throws(LogError) in
            try reserve(to: state.offset + Self.reserveByteCount + byteCount, &state)
        }
    }

    /// Room for the edits of some twenty segments.
    private static let reserveByteCount: UInt64 = 8 << 10

    private func reserve(to end: UInt64, _ state: inout State) throws(LogError) {
        guard end > state.byteCount else { return }
        let byteCount = end + UInt64(Layout.manifestByteCount)
        try LogError.wrapping { () throws(FileError) in try file.allocate(to: byteCount) }
        state.byteCount = byteCount
    }

    private func write(_ edits: [ManifestEdit]) throws(LogError) {
        try state.withLock { (state) throws(LogError) in try write(edits, state: &state) }
    }

    /// The lock is held during the write: edits are rare, and their order is significant.
    private func write(_ edits: [ManifestEdit], state: inout State) throws(LogError) {
        if let failure = state.failure { throw failure }
        var payload: [UInt8] = []
        for edit in edits { edit.append(to: &payload) }
        let place = FramePlace(
            salt: header.salt,
            offset: state.offset,
            // Every earlier frame was synced by its own write. Damage before this offset is
            // therefore corruption and no torn tail.
            syncedOffset: state.offset,
            chain: state.chain
        )
        let frame = place.controlFrame(
            .edits,
            next: .zero,
            lastTime: 0,
            lastReceived: 0,
            payload: payload
        )
        let offset = state.offset
        let end = offset + UInt64(frame.count)
        try reserve(to: end, &state)
        do throws(LogError) {
            try LogError.wrapping { () throws(FileError) in
                try file.write(frame.span.bytes, at: offset)
                try file.sync()
            }
        } catch {
            // The bytes on disk are unknown. A shorter frame at the same place would leave the end of
            // this one behind it, which the next open takes for damage.
            state.failure = error
            throw error
        }
        state.offset += UInt64(frame.count)
        state.chain = chainWord(after: frame.span.bytes)
    }

    /// Removes older manifests that have no readers; returns true if any are left.
    ///
    /// A failure is harmless: the next call tries again.
    func removeOlder(in folder: StoreFolder, fileSystem: any FileSystem) -> Bool {
        guard let names = try? fileSystem.list(folder.path) else { return true }
        var areLeft = false
        for older in names.compactMap(StoreFolder.manifestNumber) where older < number {
            // An exclusive lock proves that no reader holds the manifest. A reader that opened it
            // but has no lock yet reads `CURRENT` again after locking, and finds another number
            // there.
            if let file = try? fileSystem.open(folder.manifest(older), .read),
                (try? file.lock(.exclusive)) == true,
                (try? fileSystem.remove(folder.manifest(older))) != nil
            {
                continue
            }
            areLeft = true
        }
        return areLeft
    }

    /// Returns true if no reader uses this manifest.
    ///
    /// A reader that begins later finds all edits that have been written by now.
    func hasNoReaders() throws(FileError) -> Bool {
        // The writer holds no lock on its own manifest, so only readers can be in the way.
        let isFree = try file.lock(.exclusive)
        try file.unlock()
        return isFree
    }
}

/// A manifest as loaded by a reader.
struct LoadedManifest {
    var manifest: Manifest
    var number: UInt64
    /// Open, and locked against removal while it is open.
    var file: any LogFile
    /// The damage at the manifest's end, if it is not a torn write.
    var damage: LogError?
}

extension LoadedManifest {
    /// Reads the manifest that `CURRENT` names; `nil` if the folder holds no `CURRENT`.
    static func load(
        from folder: StoreFolder,
        fileSystem: any FileSystem
    ) throws(LogError) -> LoadedManifest? {
        var missing: String?
        for _ in 0..<attemptCount {
            guard let number = try currentNumber(in: folder, fileSystem: fileSystem) else {
                return nil
            }
            let path = folder.manifest(number)
            missing = path
            guard let file = try open(path, fileSystem: fileSystem) else { continue }
            missing = nil
            guard try LogError.wrapping({ () throws(FileError) in try file.lock(.shared) }) else {
                // A writer that checks for readers holds the lock for an instant.
                pauseThread(for: .milliseconds(5))
                continue
            }
            // A writer may have switched to a new manifest, and removed this one, before the lock
            // was taken.
            guard try currentNumber(in: folder, fileSystem: fileSystem) == number else { continue }
            return try read(file, number: number)
        }
        if let missing {
            throw LogError(
                .corrupted,
                "CURRENT names this manifest, but the file is missing. Restore the file from a "
                    + "backup; `tidemark log salvage` rebuilds the store from its segments.",
                path: missing
            )
        }
        throw LogError(
            .unreadable,
            "CURRENT, or the lock on the manifest that it names, kept changing while it was read. Try "
                + "again when no other process is opening the store.",
            path: folder.current
        )
    }

    /// The number of times that loading restarts because a writer changed the store in between.
    private static let attemptCount = 40

    /// Opens a manifest for reading; `nil` if it is not there.
    private static func open(
        _ path: String,
        fileSystem: any FileSystem
    ) throws(LogError) -> (any LogFile)? {
        try LogError.wrapping { () throws(FileError) -> (any LogFile)? in
            do throws(FileError) {
                return try fileSystem.open(path, .read)
            } catch {
                guard try fileSystem.exists(path) else { return nil }
                throw error
            }
        }
    }

    /// Returns the number of the manifest that `CURRENT` names; `nil` if there is no `CURRENT`.
    static func currentNumber(
        in folder: StoreFolder,
        fileSystem: any FileSystem
    ) throws(LogError) -> UInt64? {
        guard
            try LogError.wrapping({ () throws(FileError) in try fileSystem.exists(folder.current) })
        else { return nil }
        let file = try LogError.wrapping { () throws(FileError) in
            try fileSystem.open(folder.current, .read)
        }
        let bytes = try file.bytes(at: 0, byteCount: 128)
        let text = String(decoding: bytes, as: UTF8.self)
        let name = text.split(separator: " ").first.map(String.init) ?? ""
        // The whole text is compared, so that a shortened or longer file counts as damage too.
        guard let number = StoreFolder.manifestNumber(name), currentText(number) == text else {
            throw LogError(
                .corrupted,
                "Expected the name of a manifest and its checksum, found \(bytes.count) other "
                    + "bytes. `tidemark log salvage` rebuilds the store from its segments.",
                path: folder.current,
                offset: 0
            )
        }
        return number
    }

    /// Returns the content of `CURRENT`: a manifest's name and the hash of the name.
    private static func currentText(_ number: UInt64) -> String {
        let name = StoreFolder.manifestName(number)
        let hash = xxh3(Array(name.utf8).span.bytes, seed: 0)
        return "\(name) \(String(hash, radix: 16))\n"
    }

    /// Makes a manifest the current one; durable when it returns.
    static func makeCurrent(
        _ number: UInt64,
        in folder: StoreFolder,
        fileSystem: any FileSystem
    ) throws(LogError) {
        try LogError.wrapping { () throws(FileError) in
            if try fileSystem.exists(folder.nextCurrent) {
                try fileSystem.remove(folder.nextCurrent)
            }
            let file = try fileSystem.open(folder.nextCurrent, .create)
            try file.write(Array(currentText(number).utf8).span.bytes, at: 0)
            try file.sync()
            // The content is synced before the rename. Otherwise a crash could leave an empty
            // `CURRENT`.
            file.close()
            // The manifest's own name must be durable before `CURRENT` refers to it.
            try fileSystem.syncDirectory(folder.path)
            try fileSystem.rename(folder.nextCurrent, to: folder.current)
            try fileSystem.syncDirectory(folder.path)
        }
    }

    /// Applies the edits of a manifest file.
    static func read(
        _ file: any LogFile,
        number: UInt64
    ) throws(LogError) -> LoadedManifest {
        let header = try FileHeader.read(from: file, kind: .manifest)
        var manifest = Manifest(store: header.store)
        var scan = try FrameScan(file, header: header)
        while true {
            switch try scan.step() {
            case .frame(let frame):
                for entry in frame.blocks {
                    let payload = try scan.stored(entry)
                    let bytes = payload.span.bytes
                    for offset in stride(from: 0, to: payload.count, by: ManifestEdit.byteCount) {
                        // The frame's checksums are right here, so an edit that does not fit is no
                        // damage.
                        // An edit is never skipped: an unknown one may remove a segment
                        // (`Docs/formats/compatibility.md`).
                        guard let edit = ManifestEdit(decoding: bytes, at: offset),
                            manifest.apply(edit)
                        else {
                            throw LogError(
                                .newerVersion,
                                "Found an edit that this version of Tidemark does not know. "
                                    + "Open the store with the version that wrote it.",
                                path: file.path,
                                offset: UInt64(entry.offset) + UInt64(offset)
                            )
                        }
                    }
                }
            case .stop(let stop):
                var loaded = LoadedManifest(manifest: manifest, number: number, file: file)
                if case .corrupted(let error) = try scan.tail(after: stop) {
                    loaded.damage = error
                }
                if manifest.line.entries.isEmpty {
                    throw loaded.damage
                        ?? LogError(
                            .corrupted,
                            "The manifest holds no incarnation. `tidemark log salvage` rebuilds "
                                + "the store from its segments.",
                            path: file.path
                        )
                }
                return loaded
            }
        }
    }
}

extension FileHeader {
    /// Reads and checks the header of an open file.
    static func read(from file: any LogFile, kind: FileKind) throws(LogError) -> FileHeader {
        let bytes = try file.bytes(at: 0, byteCount: Layout.fileHeaderByteCount)
        do throws(DecodingFailure) {
            return try FileHeader(decoding: bytes.span.bytes, expecting: kind)
        } catch {
            throw LogError(error, path: file.path, found: bytes.count)
        }
    }
}

extension LogError {
    /// Describes the defect of a file header.
    init(_ failure: FileHeader.DecodingFailure, path: String, found byteCount: Int) {
        switch failure {
        case .tooShort:
            self.init(
                .corrupted,
                "Expected a file header of \(Layout.fileHeaderByteCount) bytes, found "
                    + "\(byteCount). `tidemark log salvage` copies what the other files hold.",
                path: path,
                offset: 0
            )
        case .notTidemark:
            self.init(
                .corrupted,
                "The file does not begin with TIDEMARK. It has been overwritten, or does not "
                    + "belong to a store; `tidemark log salvage` copies what the other files hold.",
                path: path,
                offset: 0
            )
        case .damaged:
            self.init(
                .corrupted,
                "The file header fails its checksum. `tidemark log salvage` copies what the "
                    + "other files hold.",
                path: path,
                offset: 0
            )
        case .newer(let version, let oldestReader, let known):
            self.init(
                .newerVersion,
                "The file has format version \(version) and needs a reader of version "
                    + "\(oldestReader); this one reads up to \(known). Use a newer "
                    + "version of Tidemark.",
                path: path,
                offset: 8
            )
        case .wrongKind(let kind):
            self.init(
                .corrupted,
                "The file is of kind \(kind), which differs from its name. Files have been renamed "
                    + "or swapped; restore the right ones from a backup.",
                path: path,
                offset: 12
            )
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Creates a new log, and the files that every opening begins.
extension LogOpening {
    func create(
        lockFile: any LogFile,
        asCopyOf original: StoreID?
    ) throws(LogError) -> OpenedLog {
        try LogError.wrapping { () throws(FileError) in
            // Also if the folder existed: its creator may have failed before this step.
            try fileSystem.syncDirectory(folder.parent)
            try fileSystem.createDirectory(folder.segments)
        }
        // Left by an interrupted creation. `checkUnused` has found no commits in them.
        for name in try folder.segmentNames(fileSystem) {
            try LogError.wrapping { () throws(FileError) in
                try fileSystem.remove(folder.segments + "/" + name)
            }
        }
        let store =
            original ?? StoreID(low: environment.random(), high: environment.random())
        var manifest = Manifest(store: store)
        let incarnation = try begin(&manifest, first: SequenceNumber(rawValue: 1))
        let reader = try newSegment(
            SegmentID(first: SequenceNumber(rawValue: 1)),
            incarnation: incarnation,
            store: store,
            sample: DictionarySample(),
            room: Layout.smallestSegmentByteCount
        )
        try add(reader.id, incarnation, to: &manifest)
        // Last: until `CURRENT` exists, the folder counts as unused, and the next creation starts
        // over.
        let file = try write(manifest, number: 1)
        var report = RecoveryReport()
        report.isNew = true
        return OpenedLog(
            store: store,
            folder: folder,
            files: makeFiles(manifest, active: reader),
            manifest: file,
            lockFile: lockFile,
            active: ActiveSegment(
                reader: reader,
                offset: UInt64(reader.header.framesOffset),
                chain: reader.header.chain,
                lastTime: .min,
                lastReceived: .min
            ),
            lastSequence: .zero,
            lastTime: .min,
            report: report
        )
    }

    func begin(
        _ manifest: inout Manifest,
        first: SequenceNumber
    ) throws(LogError) -> Incarnation {
        // Odd, because an incarnation is never zero.
        let incarnation = Incarnation(rawValue: environment.random() | 1)
        guard manifest.apply(.began(incarnation, first: first)) else {
            throw LogError(
                .corrupted,
                "The manifest's incarnations are out of order. `tidemark log salvage` rebuilds the "
                    + "store from its segments."
            )
        }
        return incarnation
    }

    func add(
        _ id: SegmentID,
        _ incarnation: Incarnation,
        to manifest: inout Manifest
    ) throws(LogError) {
        guard manifest.apply(.added(id, incarnation)) else {
            throw LogError(
                .corrupted,
                "Segment \(id.fileName) does not follow the one before it in the manifest. `tidemark "
                    + "log salvage` rebuilds the store from its segments.",
                path: folder.segment(id)
            )
        }
    }

    func newSegment(
        _ id: SegmentID,
        incarnation: Incarnation,
        store: StoreID,
        sample: DictionarySample,
        room: Int
    ) throws(LogError) -> SegmentReader {
        let preparation = SparePreparation(
            room: min(room, configuration.segmentByteCount),
            number: 0,
            store: store,
            in: folder,
            environment: environment
        )
        let spare = try preparation.finish(sample, isUsedAtOnce: true)
        do throws(LogError) {
            return try spare.becomeSegment(
                id,
                incarnation: incarnation,
                in: folder,
                environment: environment
            )
        } catch {
            // The disk may have no room for what `prepare` left unsynced: free the space at once.
            try? fileSystem.remove(spare.path)
            throw error
        }
    }

    /// Creates a manifest file and makes it the current one.
    func write(_ manifest: Manifest, number: UInt64) throws(LogError) -> ManifestFile {
        let file = try ManifestFile(
            creating: manifest,
            number: number,
            in: folder,
            environment: environment
        )
        try LoadedManifest.makeCurrent(number, in: folder, fileSystem: fileSystem)
        return file
    }

    func makeFiles(
        _ manifest: Manifest,
        active: SegmentReader,
        walked: [SegmentID: SegmentReader] = [:]
    ) -> LogFiles {
        var segments = LogFiles.segments(of: manifest)
        // A segment without a footer was walked by this open, and would be walked again at its
        // first use.
        for index in segments.indices { segments[index].reader = walked[segments[index].id] }
        segments[segments.count - 1].reader = active
        return LogFiles(
            store: manifest.store,
            folder: folder,
            fileSystem: fileSystem,
            segments: segments,
            cacheByteCount: configuration.cacheByteCount,
            marker: environment.marker
        )
    }
}

extension LogFiles {
    /// Returns the segments that a manifest names, none of them open.
    static func segments(of manifest: Manifest) -> [Segment] {
        manifest.segments.map {
            Segment(
                id: $0.id,
                last: $0.last,
                framesEnd: $0.framesEnd,
                isSealed: $0.fileByteCount != nil
            )
        }
    }
}

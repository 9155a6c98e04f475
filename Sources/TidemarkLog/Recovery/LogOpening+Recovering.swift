// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Checks the state left by the last stop, and continues from it.
extension LogOpening {
    func recover(
        _ loaded: LoadedManifest,
        lockFile: any LogFile
    ) throws(LogError) -> OpenedLog {
        var manifest = loaded.manifest
        var previous = try checkFinished(manifest)
        let orphans = try folder.orphans(of: manifest, fileSystem)
        var found = try walkActive(manifest)
        let last = found?.last ?? previous.last
        try folder.checkNewerManifests(
            than: loaded.number,
            of: manifest,
            logEndsWith: last,
            fileSystem
        )
        let lastTime = max(found?.lastTime ?? .min, previous.lastTime)
        var report = RecoveryReport()
        let isClean = found?.isClosed(by: manifest) ?? false
        manifest.closing = nil
        var begun: SegmentReader?
        if !isClean {
            report.wasClean = false
            if let found, case .torn(let byteCount) = found.tail {
                report.discardedByteCount = byteCount
                report.discardedAt = .init(path: found.reader.file.path, offset: found.end)
            }
            // The new manifest will vouch for the frames that were found.
            try found?.makeDurable()
            begun = try beginAgain(&manifest, after: last, found: found)
        }
        let file = try write(manifest, number: loaded.number + 1)
        try LogError.wrapping { () throws(FileError) in
            // A copy that was cut off directly after its end.
            if try fileSystem.exists(folder.copying) { try fileSystem.remove(folder.copying) }
        }
        // Not earlier: after a process was killed, its manifest may be readable but not yet on
        // disk, and the previous manifest may need files that this one does not.
        loaded.file.close()
        let hasOlderReaders = file.removeOlder(in: folder, fileSystem: fileSystem)
        try remove(orphans, sparing: manifest, isRead: hasOlderReaders)
        guard let reader = begun ?? found?.reader else {
            preconditionFailure("a log is opened with a segment that takes events")
        }
        var active = ActiveSegment(
            reader: reader,
            offset: begun == nil ? found?.end ?? 0 : UInt64(reader.header.framesOffset),
            chain: begun == nil ? found?.chain ?? 0 : reader.header.chain,
            lastTime: lastTime,
            lastReceived: max(found?.lastReceived ?? .min, previous.lastReceived),
            endsWithClosing: isClean
        )
        if begun != nil {
            // Durable with the first commit; without one, the next opening replaces the segment.
            try active.write(.recovery, next: last.next, payload: report.encoded())
        }
        if begun != nil, let found { previous.readers[found.reader.id] = found.reader }
        found = nil
        return OpenedLog(
            store: manifest.store,
            folder: folder,
            files: makeFiles(manifest, active: reader, walked: previous.readers),
            manifest: file,
            lockFile: lockFile,
            active: active,
            lastSequence: last,
            lastTime: lastTime,
            report: report,
            hasOlderReaders: hasOlderReaders
        )
    }

    /// Ends the segment that was being written, and begins a new incarnation in a new one.
    private func beginAgain(
        _ manifest: inout Manifest,
        after last: SequenceNumber,
        found: WalkedSegment?
    ) throws(LogError) -> SegmentReader {
        var generation: UInt32 = 0
        var sample = DictionarySample()
        if let found {
            let id = found.reader.id
            let isEmpty = found.last < id.first
            guard
                manifest.apply(.ended(id, last: found.last, framesEnd: found.end)),
                !isEmpty || manifest.apply(.removed(id))
            else { throw LogError.segmentsOutOfOrder }
            // The new segment has the same first position, so only the generation distinguishes the
            // two files.
            if isEmpty { generation = id.generation + 1 }
            sample = try DictionarySample.taken(from: found.reader)
        }
        // The discarded positions are given out again. Tokens and tags of the old incarnation are
        // valid up to `last` only, so none can be taken for one of the new events.
        let incarnation = try begin(&manifest, first: last.next)
        let id = SegmentID(first: last.next, generation: generation)
        // Small: filling a large one with zeros would take longer than the rest of the open.
        let reader = try newSegment(
            id,
            incarnation: incarnation,
            store: manifest.store,
            sample: sample,
            room: Layout.smallestSegmentByteCount
        )
        try add(id, incarnation, to: &manifest)
        return reader
    }

    /// The end of the finished part of the log, by its manifest and its last segment.
    private struct Finished {
        var last = SequenceNumber.zero
        var lastTime = Int64.min
        var lastReceived = Int64.min
        /// Readers of the segments that had to be walked, so that none is walked twice.
        var readers: [SegmentID: SegmentReader] = [:]
    }

    /// Checks that every finished segment exists, belongs to this store and has its length, and
    /// finds the end of the log.
    ///
    /// The footer of a sealed segment is checked on first use, and each block on every read.
    /// Reading all of them here would make the open slower as the log grows. A segment without a
    /// footer is walked.
    private func checkFinished(_ manifest: Manifest) throws(LogError) -> Finished {
        var finished = Finished()
        let lastIndex = manifest.segments.lastIndex { $0.last != nil }
        for (index, segment) in manifest.segments.enumerated() {
            guard let last = segment.last, let framesEnd = segment.framesEnd else { continue }
            let (file, header) = try SegmentReader.open(
                segment.id,
                store: manifest.store,
                in: folder,
                fileSystem: fileSystem
            )
            try checkLength(of: file, segment, framesEnd: framesEnd)
            finished.last = last
            if segment.fileByteCount == nil {
                let walked = try WalkedSegment(
                    segment.id,
                    store: manifest.store,
                    in: folder,
                    fileSystem: fileSystem,
                    framesEnd: framesEnd
                )
                if case .corrupted(let error) = walked.tail { throw error }
                finished.lastTime = max(finished.lastTime, walked.lastTime)
                finished.lastReceived = max(finished.lastReceived, walked.lastReceived)
                finished.readers[segment.id] = walked.reader
            } else if index == lastIndex {
                // The last finished segment has the time of the last commit before the active one.
                // The footers of the others are not read.
                let summary = try SegmentReader.footerSummary(of: file, header: header)
                try summary.check(last: last, framesEnd: framesEnd, path: file.path)
                finished.lastTime = max(finished.lastTime, summary.lastTime)
                finished.lastReceived = max(finished.lastReceived, summary.lastReceived)
            }
        }
        return finished
    }

    private func checkLength(
        of file: any LogFile,
        _ segment: Manifest.Segment,
        framesEnd: UInt64
    ) throws(LogError) {
        let byteCount = try LogError.wrapping { () throws(FileError) in try file.byteCount() }
        let expected = segment.fileByteCount ?? framesEnd
        // Behind the frames of an unsealed segment are preallocated zeros, or the footer of a
        // sealing that was interrupted before its manifest edit.
        guard byteCount == expected || (segment.fileByteCount == nil && byteCount > expected)
        else {
            throw LogError(
                .corrupted,
                "The manifest promises \(expected) bytes, but the file has \(byteCount). Restore "
                    + "it from a backup; `tidemark log salvage` copies what is left.",
                path: file.path,
                offset: min(byteCount, expected)
            )
        }
    }

    private func walkActive(_ manifest: Manifest) throws(LogError) -> WalkedSegment? {
        guard let active = manifest.active else { return nil }
        let walked = try WalkedSegment(
            active.id,
            store: manifest.store,
            in: folder,
            fileSystem: fileSystem,
            mode: .readWrite,
            promised: manifest.closing?.framesEnd
        )
        if case .corrupted(let error) = walked.tail { throw error }
        return walked
    }
}

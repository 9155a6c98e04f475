// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Segment files that a manifest does not list.
extension StoreFolder {
    /// Returns the names in the folder of segments; empty if the folder is missing.
    func segmentNames(_ fileSystem: any FileSystem) throws(LogError) -> [String] {
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.exists(segments) ? try fileSystem.list(segments) : []
        }
    }

    /// Unneeded files from a crash: prepared segments, segments that were named but not yet listed,
    /// and segments that compaction was about to remove.
    ///
    /// An unlisted segment after the manifest's last one is empty if a crash left it. If it holds
    /// commits, the manifest is outdated or the file is from another place, and this throws
    /// `corrupted`. A backup is the exception: its manifest has no segment that takes events, and a
    /// segment after its last one belongs to the next, interrupted backup.
    func orphans(
        of manifest: Manifest,
        _ fileSystem: any FileSystem
    ) throws(LogError) -> [String] {
        let known = Set(manifest.segments.map(\.id))
        var orphans: [String] = []
        for name in try segmentNames(fileSystem) {
            if let id = SegmentID(fileName: name) {
                if known.contains(id) { continue }
                // Segments that sort before the last listed one are those that compaction replaced.
                // Only later ones can prove that the manifest is old.
                if manifest.active != nil,
                    manifest.segments.last.map({ id > $0.id }) ?? true,
                    try holdsCommits(id, fileSystem)
                {
                    throw .straySegment(segment(id))
                }
            } else if !Self.isSpare(name) {
                continue
            }
            orphans.append(name)
        }
        return orphans
    }
}

/// Manifests that are newer than the one that `CURRENT` names.
extension StoreFolder {
    /// Throws `corrupted` if such a manifest names a position behind the end of the log.
    ///
    /// An interrupted open leaves a newer manifest that names no later position than the previous
    /// one. If it names a later one, it was current once, and an older `CURRENT` was restored. A
    /// backup is the exception: an interrupted one leaves a manifest that names later positions.
    func checkNewerManifests(
        than number: UInt64,
        of manifest: Manifest,
        logEndsWith last: SequenceNumber,
        _ fileSystem: any FileSystem
    ) throws(LogError) {
        guard manifest.active != nil else { return }
        let (known, path) = try newestEnd(of: manifest.store, from: number + 1, fileSystem)
        guard known > last else { return }
        throw LogError(
            .corrupted,
            "This manifest names event \(known), but the log that CURRENT names ends with event "
                + "\(last). CURRENT is an older file. Restore the newer one from a backup; "
                + "`tidemark log salvage` copies what is left.",
            path: path
        )
    }

    /// Returns the last position that manifests from a number on name, and that manifest's name;
    /// zero if none is readable.
    func newestEnd(
        of store: StoreID,
        from first: UInt64,
        _ fileSystem: any FileSystem
    ) throws(LogError) -> (last: SequenceNumber, path: String) {
        let names = try LogError.wrapping { () throws(FileError) in try fileSystem.list(path) }
        var newest = (last: SequenceNumber.zero, path: "")
        for number in names.compactMap(Self.manifestNumber).sorted() where number >= first {
            // An unreadable manifest proves nothing: an interrupted open may have left it
            // incomplete.
            guard let file = try? fileSystem.open(manifest(number), .read),
                let loaded = try? LoadedManifest.read(file, number: number),
                loaded.manifest.store == store, loaded.manifest.lastKnown > newest.last
            else { continue }
            newest = (loaded.manifest.lastKnown, manifest(number))
        }
        return newest
    }
}

extension LogError {
    /// Returns the error for a segment with commits that the manifest does not list.
    fileprivate static func straySegment(_ path: String) -> LogError {
        LogError(
            .corrupted,
            "The segment holds commits, but the manifest does not list it. Either CURRENT and the "
                + "manifest are older than the segment, or the segment was copied here from "
                + "elsewhere. `tidemark log salvage` copies the commits of both.",
            path: path
        )
    }
}

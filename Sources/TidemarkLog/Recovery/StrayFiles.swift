// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Files of segments that a manifest does not know.
extension StoreFolder {
    /// The names in the folder of segments; none if there is no such folder.
    func segmentNames(_ fileSystem: any FileSystem) throws(LogError) -> [String] {
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.exists(segments) ? try fileSystem.list(segments) : []
        }
    }

    /// The files that a crash left and that nothing needs: prepared segments, a segment that got its
    /// name but not its line in the manifest, and segments that compaction was about to remove.
    ///
    /// A segment behind the manifest's last one is empty if a crash left it. If it holds commits, then
    /// the manifest is an older one or the file is from elsewhere, and this throws `corrupted`. A backup
    /// is the exception: its manifest has no segment that takes events, and a segment behind its last
    /// one belongs to the next backup, which was interrupted.
    func orphans(
        of manifest: Manifest,
        _ fileSystem: any FileSystem
    ) throws(LogError) -> [String] {
        let known = Set(manifest.segments.map(\.id))
        var orphans: [String] = []
        for name in try segmentNames(fileSystem) {
            if let id = SegmentID(fileName: name) {
                if known.contains(id) { continue }
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
    /// An opening that was interrupted leaves a newer manifest, which names nothing that the one before
    /// does not. If one names more, it was current once, and an older `CURRENT` came back. A backup is
    /// the exception: an interrupted one leaves a manifest that names more.
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
            "This manifest names event \(known), and the log that CURRENT leads to ends with event "
                + "\(last). CURRENT is an older file. Bring the newer one back from a backup; "
                + "`tidemark log salvage` copies what is left.",
            path: path
        )
    }

    /// The last position that manifests from a number on name, and the manifest that names it; zero if
    /// none can be read.
    func newestEnd(
        of store: StoreID,
        from first: UInt64,
        _ fileSystem: any FileSystem
    ) throws(LogError) -> (last: SequenceNumber, path: String) {
        let names = try LogError.wrapping { () throws(FileError) in try fileSystem.list(path) }
        var newest = (last: SequenceNumber.zero, path: "")
        for number in names.compactMap(Self.manifestNumber).sorted() where number >= first {
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
    /// A segment with commits that the manifest does not know.
    fileprivate static func straySegment(_ path: String) -> LogError {
        LogError(
            .corrupted,
            "The segment holds commits, and the manifest does not list it. Either CURRENT and the "
                + "manifest are older than the segment, or the segment is from elsewhere. "
                + "`tidemark log salvage` copies the commits of both.",
            path: path
        )
    }
}

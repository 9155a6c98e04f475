// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A log that has been locked, checked and recovered: the input of a `SegmentLog`.
struct OpenedLog: ~Copyable {
    var store: StoreID
    var folder: StoreFolder
    var files: LogFiles
    var manifest: ManifestFile
    var lockFile: any LogFile
    var active: ActiveSegment
    var lastSequence: SequenceNumber
    var lastTime: Int64
    var report: RecoveryReport
    /// True if a reader holds an older manifest.
    var hasOlderReaders = false
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk

@testable import TidemarkLog

/// What a sync in a log's code is for, told from the calls before it.
///
/// One case stands for one place in the code: a sync is removed there for all its calls at once.
enum SyncPurpose: String, CaseIterable {
    case storeName = "the store's name in the folder above"
    case spare = "a spare that has been filled with zeros"
    case header = "a segment's header, before it gets its name"
    case segmentName = "a segment's name"
    case commits = "a frame of commits"
    case markerAtEnd = "a marker that the manifest is about to promise"
    case closing = "a closing frame"
    case recovered = "frames that recovery found and nothing vouches for"
    case footer = "a footer"
    case manifest = "a new manifest"
    case switchEdit = "an edit that ends a segment and adds the next"
    case sealedEdit = "an edit that tells of a footer"
    case closedEdit = "an edit that tells of a clean close"
    case nextCurrent = "CURRENT, before it gets its name"
    case manifestName = "a new manifest's name"
    case currentName = "CURRENT's name"

    /// One sync of a trace, and its number among those of its kind.
    struct Place {
        var purpose: SyncPurpose?
        var kind: FileError.Call
        var number: Int
        var call: SimulatedCall
    }

    /// Every sync of a trace.
    static func places(in trace: [SimulatedCall]) -> [Place] {
        var numbers: [FileError.Call: Int] = [:]
        let changes = trace.filter(\.changesDisk)
        return changes.indices.compactMap { index in
            let call = changes[index]
            guard call.kind == .sync || call.kind == .syncDirectory else { return nil }
            numbers[call.kind, default: 0] += 1
            return Place(
                purpose: purpose(
                    of: call,
                    after: changes[..<index],
                    before: changes[(index + 1)...].first { $0.kind != .open }
                ),
                kind: call.kind,
                number: numbers[call.kind] ?? 0,
                call: call
            )
        }
    }

    private static func purpose(
        of call: SimulatedCall,
        after changes: ArraySlice<SimulatedCall>,
        before next: SimulatedCall?
    ) -> SyncPurpose? {
        guard let last = changes.last else { return nil }
        if call.kind == .syncDirectory {
            if call.path.hasSuffix("/segments") { return .segmentName }
            if call.path != CrashWorkload.path { return .storeName }
            return last.kind == .rename ? .currentName : .manifestName
        }
        if call.path.hasSuffix("CURRENT.tmp") { return .nextCurrent }
        if call.path.contains("/manifest-") { return edit(last, after: changes.dropLast()) }
        if call.path.hasSuffix(".tmp") {
            return last.kind == .write && last.offset == 0 ? .header : .spare
        }
        if last.kind == .truncate { return .footer }
        if next?.path.hasSuffix("/spare-0.tmp") == true { return .recovered }
        if next?.path.hasSuffix(".tmp") == true, next?.offset == 0 { return .markerAtEnd }
        return frame(last, before: next)
    }

    private static func edit(
        _ write: SimulatedCall,
        after changes: ArraySlice<SimulatedCall>
    ) -> SyncPurpose? {
        if write.offset == UInt64(Layout.fileHeaderByteCount) || write.kind != .write {
            return .manifest
        }
        if write.byteCount == frameByteCount(payload: 2 * ManifestEdit.byteCount) {
            return .switchEdit
        }
        // Sealing cuts the file and syncs it, right before it tells.
        return changes.dropLast().last?.kind == .truncate ? .sealedEdit : .closedEdit
    }

    private static func frame(
        _ write: SimulatedCall,
        before next: SimulatedCall?
    ) -> SyncPurpose? {
        if write.byteCount == Layout.frameHeaderByteCount,
            next?.path.contains("/manifest-") == true
        {
            return .closing
        }
        return .commits
    }

    private static func frameByteCount(payload: Int) -> Int {
        Layout.aligned(Layout.frameHeaderByteCount + Layout.blockEntryByteCount + payload)
    }
}

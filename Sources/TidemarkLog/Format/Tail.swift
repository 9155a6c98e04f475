// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The bytes after the last sound frame of a file that was being written.
enum Tail: Hashable {
    /// Nothing: every byte is zero.
    case clean
    /// A write that was interrupted before it was acknowledged; the given number of bytes is
    /// useless.
    case torn(byteCount: UInt64)
    /// Bytes that were durable once differ from the bytes written.
    case corrupted(LogError)
}

extension FrameScan {
    /// Classifies a stop by the rule of `Docs/formats/segment.md`, "The torn tail".
    ///
    /// `promised` is an offset that the manifest vouches for, if it does.
    mutating func tail(after stop: Stop, promised: UInt64? = nil) throws(LogError) -> Tail {
        let place = offset
        let path = window.file.path
        func corrupted(_ found: String) -> Tail {
            .corrupted(
                LogError(
                    .corrupted,
                    "Expected \(expectation); found \(found). Bytes that were on disk have changed. "
                        + "Sound data can still be read; `tidemark log salvage` copies it into a "
                        + "new store.",
                    path: path,
                    offset: place
                )
            )
        }
        let reason = reason(of: stop)
        // Only a file that still takes frames keeps its length. Sealing truncates a finished
        // segment.
        if !isLimited, window.fileByteCount < header.allocatedByteCount {
            return corrupted(
                "the file cut to \(window.fileByteCount) bytes of \(header.allocatedByteCount)"
            )
        }
        if let promised, promised > place {
            return corrupted("\(reason), although the manifest promises \(promised) sound bytes")
        }
        if case .limit = stop { return .clean }
        var voucher: UInt64?
        let last = try survey(from: place) { offset, frame in
            guard offset > place, frame.syncedOffset > place else { return true }
            voucher = offset
            return false
        }
        // This check comes before that of the sectors: damage to a synced frame can also leave a
        // sector of zeros.
        if let voucher {
            return corrupted(
                "\(reason), although the frame at offset \(voucher) shows that this place had "
                    + "been synced"
            )
        }
        // `last` is complete here: `survey` ends early only at a voucher.
        let remains = last.map { $0 + 1 - place } ?? 0
        switch stop {
        case .blank, .limit:
            // A disk may write the sectors of a frame in any order. The place of the header may
            // still be zero while later bytes of the frame are there.
            return remains == 0 ? .clean : .torn(byteCount: remains)
        case .unsound(let unsound):
            guard try hasUnwrittenSector(from: place, byteCount: unsound.extent) else {
                return corrupted("\(reason), although every sector of it has been written")
            }
            return .torn(byteCount: remains)
        }
    }

    private var expectation: String {
        // A file that numbers no events, such as the manifest, has no next one.
        next.map { "the frame after event \($0.rawValue - 1)" } ?? "another frame"
    }

    /// Continues after damage, at the next trustworthy place; `false` if there is none.
    ///
    /// Returns the damaged frame if its block table is sound, so that its other blocks can be read.
    mutating func goOn(behind stop: Stop) throws(LogError) -> (goesOn: Bool, frame: Frame?) {
        if case .unsound(let unsound) = stop, let frame = unsound.frame {
            try pass(frame)
            return (offset <= limit, frame)
        }
        guard let (offset, frame) = try search(from: offset + 1) else { return (false, nil) }
        resume(at: offset, frame)
        return (true, nil)
    }

    private func reason(of stop: Stop) -> String {
        switch stop {
        case .blank: "nothing"
        case .limit: "the end"
        case .unsound(let unsound): unsound.reason
        }
    }

    /// Returns true if a sector that a frame covers is still all zero in the covered part.
    ///
    /// Segments are never reused, so an unwritten sector is zero. The last seven bytes may be
    /// padding and prove nothing.
    private mutating func hasUnwrittenSector(
        from start: UInt64,
        byteCount: Int
    ) throws(LogError) -> Bool {
        let sector = UInt64(Layout.sectorByteCount)
        let end = start + UInt64(max(1, byteCount - Layout.frameAlignment + 1))
        var lower = start
        while lower < end {
            let upper = min(end, (lower / sector + 1) * sector)
            let range = try window.range(at: lower, byteCount: Int(upper - lower))
            if window.bytes.span.bytes.extracting(range).isZero(in: 0..<range.count) { return true }
            lower = upper
        }
        return false
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkLog
import TidemarkModel

/// `tidemark log ls`: the segments.
struct LogListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List the segments of the log.",
        discussion: """
              tidemark log ls notes.tide
              tidemark log ls notes.tide | jq -r 'select(.recovery) | .first'

            Prints one line for each file of the log, oldest first: the events it covers, the \
            incarnation that wrote it, its state, its bytes, and its ratio of compression. A \
            segment is active (it takes events), ended (it takes no more) or sealed (it has its \
            footer and never changes again). A segment that was begun after an unclean stop lists \
            what was discarded.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let found = try await store.serviceOfFiles().answer(SegmentsCall())
        let segments = found.segments
        var output = StandardOutput()
        if options.isJSON(output) {
            for segment in segments { try output.line { $0.append(json: segment) } }
        } else {
            for line in Self.table(of: segments).lines { try output.line(line) }
            for line in segments.compactMap(\.recoveryText) { try output.line(line) }
        }
        try output.flush()
        noteTornTail(found.tornByteCount)
        try finish(found.damage)
    }

    private static func table(of segments: [SegmentFigures]) -> Table {
        var table = Table([
            ("first", .right), ("last", .right), ("generation", .right), ("incarnation", .left),
            ("state", .left), ("bytes", .right), ("events", .right), ("commits", .right),
            ("ratio", .right),
        ])
        for segment in segments {
            table.append([
                "\(segment.id.first)", "\(segment.last)", "\(segment.id.generation)",
                segment.incarnation.text, segment.state.rawValue, "\(segment.byteCount)",
                "\(segment.eventCount)", "\(segment.commitCount)",
                ratioText(segment.rawByteCount, segment.byteCount),
            ])
        }
        return table
    }
}

extension [UInt8] {
    fileprivate mutating func append(json segment: SegmentFigures) {
        append(literal: "{")
        append(member: "segment", jsonString: segment.id.fileName)
        append(member: "first", jsonNumber: segment.id.first.rawValue)
        append(member: "last", jsonNumber: segment.last.rawValue)
        append(member: "generation", jsonNumber: segment.id.generation)
        append(member: "incarnation", jsonString: segment.incarnation.text)
        append(member: "state", jsonString: segment.state.rawValue)
        append(member: "bytes", jsonNumber: segment.byteCount)
        append(member: "spareBytes", jsonNumber: segment.spareByteCount)
        append(member: "rawBytes", jsonNumber: segment.rawByteCount)
        append(member: "ratio")
        append(contentsOf: ratioText(segment.rawByteCount, segment.byteCount).utf8)
        append(member: "events", jsonNumber: segment.eventCount)
        append(member: "commits", jsonNumber: segment.commitCount)
        if let recovery = segment.recovery {
            append(literal: ",\"recovery\":{\"discardedBytes\":")
            append(jsonNumber: recovery.discardedByteCount)
            append(member: "offset", jsonNumber: recovery.discardedOffset)
            append(literal: "}")
        }
        append(literal: "}")
    }
}

extension SegmentFigures {
    fileprivate var recoveryText: String? {
        guard let recovery else { return nil }
        let what =
            recovery.discardedByteCount == 0
            ? "nothing had to be discarded"
            : """
            \(recovery.discardedByteCount) bytes that were never acknowledged were discarded, \
            at offset \(recovery.discardedOffset) of the segment before
            """
        return "Before event \(id.first) the writer had stopped without closing; \(what)."
    }
}

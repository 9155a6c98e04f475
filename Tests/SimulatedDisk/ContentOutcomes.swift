// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// What a power loss may leave of one file's unsynced changes.
///
/// There is one choice for the truncations that survive (so many, in their order), one for each
/// sector that was written (which of its versions), and one for the length (which of those it
/// had). Zero always means "as durable", the largest value "as live".
struct ContentOutcomes {
    /// One change of one sector, or of the length alone.
    enum Step {
        case piece(sector: Int, version: Int, offset: Int, bytes: ArraySlice<UInt8>)
        case cut(Int)
        case extend(Int)
    }

    /// The changes in order, each with its place among those of the whole disk, and the value of
    /// the length's choice once it has happened.
    private(set) var steps: [(serial: Int, length: Int, step: Step)] = []
    private(set) var cutCount = 0
    /// The sectors that were written, ascending.
    private(set) var sectors: [Int] = []
    private var versionCounts: [Int: Int] = [:]
    /// The durable length and every later one, with the number of truncations before it.
    private var lengths: [(byteCount: Int, cutCount: Int)]
    private let durable: [UInt8]

    init(of content: SimulatedContent) {
        durable = content.durable
        lengths = [(durable.count, 0)]
        for change in content.unsynced {
            switch change.kind {
            case .write(let offset, let bytes):
                for piece in SimulatedContent.pieces(of: bytes, at: offset) {
                    versionCounts[piece.sector, default: 0] += 1
                    let version = versionCounts[piece.sector, default: 0]
                    reach(
                        max(lengths[lengths.count - 1].byteCount, piece.offset + piece.bytes.count)
                    )
                    append(
                        .piece(
                            sector: piece.sector,
                            version: version,
                            offset: piece.offset,
                            bytes: piece.bytes
                        ),
                        change.serial
                    )
                }
            case .cut(let byteCount):
                cutCount += 1
                reach(byteCount)
                append(.cut(byteCount), change.serial)
            case .extend(let byteCount):
                reach(byteCount)
                append(.extend(byteCount), change.serial)
            }
        }
        sectors = versionCounts.keys.sorted()
    }

    private mutating func reach(_ byteCount: Int) {
        let last = lengths[lengths.count - 1]
        guard byteCount != last.byteCount || cutCount != last.cutCount else { return }
        lengths.append((byteCount, cutCount))
    }

    private mutating func append(_ step: Step, _ serial: Int) {
        steps.append((serial, lengths.count - 1, step))
    }

    /// How many values each choice has: the truncations, the length, then each sector.
    var choiceSizes: [Int] {
        [cutCount + 1, lengths.count] + sectors.map { versionCounts[$0, default: 0] + 1 }
    }

    /// The place of a sector's choice among `choiceSizes`.
    func choice(ofSector sector: Int) -> Int {
        2 + (sectors.firstIndex(of: sector) ?? 0)
    }

    /// The same outcome in the one list of values that stands for it.
    ///
    /// A length from after a truncation that did not survive, or before one that did, becomes the
    /// nearest that can be; sectors beyond the length are lost.
    func normalized(_ choices: ArraySlice<Int>) -> [Int] {
        var choices = Array(choices)
        let possible = lengths.indices.filter { lengths[$0].cutCount == choices[0] }
        choices[1] = min(max(choices[1], possible.first ?? 0), possible.last ?? 0)
        let end = lengths[choices[1]].byteCount
        for (index, sector) in sectors.enumerated()
        where sector * SimulatedContent.sectorByteCount >= end {
            choices[2 + index] = 0
        }
        return choices
    }

    /// The file as these choices leave it.
    func content(choosing choices: ArraySlice<Int>) -> [UInt8] {
        let choices = normalized(choices)
        let versions = Dictionary(uniqueKeysWithValues: zip(sectors, choices.dropFirst(2)))
        var bytes = durable
        var cuts = 0
        replay: for (_, _, step) in steps {
            switch step {
            case .piece(let sector, let version, let offset, let piece):
                guard version <= versions[sector, default: 0] else { continue }
                SimulatedContent.Change.Kind.overwrite(&bytes, with: piece, at: offset)
            case .cut(let byteCount):
                // What was written after a truncation lies in blocks the file has only with it.
                if cuts == choices[0] { break replay }
                cuts += 1
                if byteCount < bytes.count {
                    SimulatedContent.Change.Kind.resize(&bytes, to: byteCount)
                }
            case .extend: break
            }
        }
        SimulatedContent.Change.Kind.resize(&bytes, to: lengths[choices[1]].byteCount)
        return bytes
    }
}

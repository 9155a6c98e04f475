// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLZ4
import Contenders
import Workload

/// What LZ4 alone takes to decode the records of a zone and to copy them out: no engine that keeps
/// them in compressed blocks can be faster.
final class LZ4Floor {
    /// Blocks are as long as those of Tidemark's log.
    private static let blockByteCount = 16 << 10

    private var stored: [[UInt8]] = []
    private var lengths: [Int] = []
    private let recordCount: Int
    private let decoded = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 20)

    init(_ history: History, _ pages: PageSource) {
        recordCount = history.recordCount
        var raw: [UInt8] = []
        history.forEachBatch(of: 400) { batch in
            raw += FlatBatch(batch, pages).bytes
            while raw.count >= Self.blockByteCount {
                add(raw[..<Self.blockByteCount])
                raw.removeFirst(Self.blockByteCount)
            }
        }
        if !raw.isEmpty { add(raw[...]) }
    }

    deinit { decoded.deallocate() }

    private func add(_ raw: ArraySlice<UInt8>) {
        lengths.append(raw.count)
        let bound = Int(LZ4_compressBound(Int32(raw.count)))
        stored.append(
            [UInt8](unsafeUninitializedCapacity: bound) { block, count in
                count = raw.withUnsafeBytes { raw in
                    Int(
                        LZ4_compress_default(
                            raw.baseAddress?.assumingMemoryBound(to: CChar.self),
                            UnsafeMutableRawPointer(block.baseAddress)?
                                .assumingMemoryBound(to: CChar.self),
                            Int32(raw.count),
                            Int32(bound)
                        )
                    )
                }
            }
        )
    }

    func recordsPerSecond(into sink: Sink) throws -> Double {
        sink.reset()
        let start = ContinuousClock.now
        for (block, length) in zip(stored, lengths) {
            let count = block.withUnsafeBytes {
                LZ4_decompress_safe(
                    $0.baseAddress?.assumingMemoryBound(to: CChar.self),
                    UnsafeMutableRawPointer(decoded.baseAddress)?
                        .assumingMemoryBound(to: CChar.self),
                    Int32($0.count),
                    Int32(decoded.count)
                )
            }
            guard count == length else { throw WrongAnswer("LZ4 decoded \(count) bytes") }
            sink.take(
                name: UnsafeRawBufferPointer(start: nil, count: 0),
                sequence: 0,
                value: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: decoded[..<length]))
            )
        }
        return Double(recordCount) / start.secondsUntilNow
    }
}

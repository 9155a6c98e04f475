// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CPlatform

extension RawSpan {
    /// Prefetches bytes that are about to be read, as far as they exist, at most 1 KiB.
    ///
    /// A walk of events touches few places of each, too far apart for the processor to predict.
    /// Without prefetching, it waits for memory at each event.
    @inline(__always)
    func prefetch(at offset: Int, byteCount wanted: Int) {
        let count = min(wanted, byteCount - offset)
        guard count > 0 else { return }
        withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            tidemark_prefetch_bytes(base + offset, count)
        }
    }
}

extension Array {
    /// Prefetches the head of the array, which counts its references and elements, and some bytes behind it.
    ///
    /// For an array whose head is not in the processor's cache, a reference alone waits for memory.
    @inline(__always)
    func prefetchHead(byteCount: Int = 1) {
        let headByteCount = 32
        withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            tidemark_prefetch_bytes(base - headByteCount, headByteCount + byteCount)
        }
    }

    /// Prefetches elements, at most 1 KiB.
    @inline(__always)
    func prefetch(_ range: Range<Int>) {
        withUnsafeBufferPointer { elements in
            let bytes = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: elements[range]))
            guard let base = bytes.baseAddress else { return }
            tidemark_prefetch_bytes(base, bytes.count)
        }
    }
}

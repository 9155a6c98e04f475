// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The key by which a repeated request is found.
package struct RequestKey: Hashable, Sendable {
    package var low: UInt64
    package var high: UInt64

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }
}

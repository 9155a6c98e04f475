// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What a request is found by when it comes again.
package struct RequestKey: Hashable, Sendable {
    package var low: UInt64
    package var high: UInt64

    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }
}

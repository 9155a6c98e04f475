// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Records to save and to delete, gathered into requests.
struct RecordRequests {
    /// The collected requests, in order.
    private(set) var requests: [ModifyRecordsRequest] = []
    private let isAtomic: Bool
    private let limits: Limits
    private var byteCount = 0

    /// Creates a collector: of one atomic request of any size, or of as many requests as the limits
    /// require, in which every item is independent.
    init(isAtomic: Bool, limits: Limits) {
        self.isAtomic = isAtomic
        self.limits = limits
    }

    /// Adds a record to save.
    mutating func add(_ save: RecordSave) {
        makeRoom(byteCount: save.fields.bytes.count)
        requests[requests.count - 1].saves.append(save)
    }

    /// Adds a record to delete.
    mutating func add(_ deletion: RecordDeletion) {
        makeRoom(byteCount: 0)
        requests[requests.count - 1].deletions.append(deletion)
    }

    private mutating func makeRoom(byteCount added: Int) {
        byteCount += added
        if let last = requests.last {
            let itemCount = last.saves.count + last.deletions.count
            // The new item is in `byteCount` already but not in `itemCount`, so the comparisons
            // differ.
            let isFull = itemCount >= limits.itemsPerRequest || byteCount > limits.bytesPerRequest
            // An atomic request is never divided, whatever its size: the store rejects one that is
            // too large.
            if isAtomic || !isFull { return }
        }
        requests.append(ModifyRecordsRequest(isAtomic: isAtomic))
        byteCount = added
    }
}

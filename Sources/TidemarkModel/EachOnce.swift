// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Sequence where Element: Hashable {
    /// The elements in order, without later duplicates.
    package var eachOnce: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Sequence where Element: Hashable {
    /// The elements in order, without later duplicates.
    package var eachOnce: [Element] {
        let elements = Array(self)
        // The usual case of some callers, without a set.
        guard elements.count > 1 else { return elements }
        var seen: Set<Element> = []
        return elements.filter { seen.insert($0).inserted }
    }
}

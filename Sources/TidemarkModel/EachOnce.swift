// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Sequence where Element: Hashable {
    /// The elements in order, without later duplicates.
    package var eachOnce: [Element] {
        let elements = Array(self)
        // Few elements are compared with each other: a set would hash each of them.
        guard elements.count > 8 else {
            return elements.reduce(into: []) { found, element in
                if !found.contains(element) { found.append(element) }
            }
        }
        var seen: Set<Element> = []
        return elements.filter { seen.insert($0).inserted }
    }
}

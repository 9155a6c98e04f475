// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One step on the way from one list to another.
enum Edit: Hashable, Sendable {
    /// The element at these places of the old and the new list is the same.
    case kept(old: Int, new: Int)
    /// The element at this place of the old list is not in the new one.
    case removed(old: Int)
    /// The element at this place of the new list was not in the old one.
    case added(new: Int)
}

/// Finds a shortest edit from one list to another, by the greedy algorithm of Myers.
///
/// If the lists have little in common, the search stops after a number of steps: then everything
/// between their common beginning and end counts as replaced. Removals come before additions.
struct EditWalk {
    /// Steps after which the search is given up.
    static let stepLimit = 1_000

    private var old: [Int32] = []
    private var new: [Int32] = []
    private var prefix = 0
    private var suffix = 0

    /// The steps from one list to another; elements are the same if they are equal.
    ///
    /// O((n + m) · steps), and the square of the steps in memory.
    static func edits<Element: Hashable>(from old: [Element], to new: [Element]) -> [Edit] {
        EditWalk(old, new).edits()
    }

    private init<Element: Hashable>(_ old: [Element], _ new: [Element]) {
        // Compared by number from here on: elements may be long.
        var numbers: [Element: Int32] = [:]
        func numbered(_ elements: [Element]) -> [Int32] {
            elements.map { element in
                if let known = numbers[element] { return known }
                let next = Int32(truncatingIfNeeded: numbers.count)
                numbers[element] = next
                return next
            }
        }
        self.old = numbered(old)
        self.new = numbered(new)
        // Most lists differ in one place. Without their equal ends the walk is short, and its
        // result is as good.
        let shorter = min(old.count, new.count)
        while prefix < shorter, self.old[prefix] == self.new[prefix] { prefix += 1 }
        while suffix < shorter - prefix,
            self.old[old.count - 1 - suffix] == self.new[new.count - 1 - suffix]
        {
            suffix += 1
        }
    }

    private func edits() -> [Edit] {
        let oldCount = old.count - prefix - suffix
        let newCount = new.count - prefix - suffix
        let kept = (0..<prefix).map { Edit.kept(old: $0, new: $0) }
        let middle = walk(oldCount, newCount) ?? replacement(oldCount, newCount)
        let end = (0..<suffix).map {
            Edit.kept(old: old.count - suffix + $0, new: new.count - suffix + $0)
        }
        return (kept + middle + end).removalsFirst
    }

    private func replacement(_ oldCount: Int, _ newCount: Int) -> [Edit] {
        (prefix..<prefix + oldCount).map { .removed(old: $0) }
            + (prefix..<prefix + newCount).map { .added(new: $0) }
    }

    /// The shortest way through the middle; `nil` if it is too long.
    private func walk(_ oldCount: Int, _ newCount: Int) -> [Edit]? {
        let limit = min(oldCount + newCount, Self.stepLimit)
        // The greedy algorithm of Myers. At the limit of 1,000 steps, the trace takes 4 MB.
        // How far in the old list each diagonal was reached, by its number plus the limit plus 1.
        var reached = [Int32](repeating: 0, count: 2 * limit + 3)
        // The positions reached before each step: the diagonals from -step to step.
        var trace: [[Int32]] = []
        for step in 0...limit {
            trace.append(Array(reached[limit + 1 - step...limit + 1 + step]))
            for diagonal in stride(from: -step, through: step, by: 2) {
                let place = diagonal + limit + 1
                let isDown =
                    diagonal == -step
                    || diagonal != step && reached[place - 1] < reached[place + 1]
                var x = Int(isDown ? reached[place + 1] : reached[place - 1] + 1)
                while x < oldCount, x - diagonal < newCount,
                    old[prefix + x] == new[prefix + x - diagonal]
                {
                    x += 1
                }
                reached[place] = Int32(truncatingIfNeeded: x)
                if x >= oldCount, x - diagonal >= newCount {
                    return way(back: trace, oldCount, newCount)
                }
            }
        }
        return nil
    }

    /// Follows a trace from the end to the beginning.
    private func way(back trace: [[Int32]], _ oldCount: Int, _ newCount: Int) -> [Edit] {
        var edits: [Edit] = []
        var (x, y) = (oldCount, newCount)
        for step in stride(from: trace.count - 1, through: 1, by: -1) {
            let reached = trace[step]
            func before(_ diagonal: Int) -> Int {
                let place = diagonal + step
                return reached.indices.contains(place) ? Int(reached[place]) : 0
            }
            let diagonal = x - y
            let isDown =
                diagonal == -step
                || diagonal != step && before(diagonal - 1) < before(diagonal + 1)
            let startX = isDown ? before(diagonal + 1) : before(diagonal - 1)
            let startY = startX - (isDown ? diagonal + 1 : diagonal - 1)
            for _ in 0..<min(x - startX, y - startY) {
                x -= 1
                y -= 1
                edits.append(.kept(old: prefix + x, new: prefix + y))
            }
            edits.append(isDown ? .added(new: prefix + startY) : .removed(old: prefix + startX))
            (x, y) = (startX, startY)
        }
        // The lists begin alike up to the first step.
        while x > 0 {
            x -= 1
            y -= 1
            edits.append(.kept(old: prefix + x, new: prefix + y))
        }
        return edits.reversed()
    }
}

extension [Edit] {
    /// The same steps with the removals of each stretch that changed before its additions.
    fileprivate var removalsFirst: [Edit] {
        var edits: [Edit] = []
        edits.reserveCapacity(count)
        var added: [Edit] = []
        for edit in self {
            switch edit {
            case .added: added.append(edit)
            case .removed: edits.append(edit)
            case .kept:
                edits += added
                edits.append(edit)
                added.removeAll(keepingCapacity: true)
            }
        }
        return edits + added
    }
}

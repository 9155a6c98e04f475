// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import TidemarkLog

/// All that a power loss decides about a disk, as a list of choices: one for each unsynced change
/// of a name, then those of each file with unsynced changes.
struct CrashChoices {
    /// How many values each choice has; zero means lost, the largest value kept.
    private(set) var sizes: [Int]
    /// Which choices are a file's, by node.
    private var files: [Int: (choices: Range<Int>, outcomes: ContentOutcomes)] = [:]
    private let disk: SimulatedDisk
    private var names: [SimulatedDisk.NameChange] { disk.unsyncedNames }
    /// Every single change, in the order in which they happened.
    private var steps: [Step] = []

    /// One change, and the values that choices have once it has happened.
    private struct Step {
        var serial: Int
        var choice: Int
        var value: Int
        var length: (choice: Int, value: Int)?
    }

    init(of disk: SimulatedDisk) {
        self.disk = disk
        sizes = disk.unsyncedNames.map { _ in 2 }
        for (index, name) in disk.unsyncedNames.enumerated() {
            steps.append(Step(serial: name.serial, choice: index, value: 1))
        }
        for (node, content) in disk.files.sorted(by: { $0.key < $1.key })
        where !content.unsynced.isEmpty {
            let outcomes = ContentOutcomes(of: content)
            let first = sizes.count
            sizes += outcomes.choiceSizes
            files[node] = (first..<sizes.count, outcomes)
            appendSteps(of: outcomes, first: first)
        }
        // Pieces of one write share a serial and are in order already; sorting keeps them so.
        steps = steps.enumerated()
            .sorted { ($0.element.serial, $0.offset) < ($1.element.serial, $1.offset) }
            .map(\.element)
    }

    private mutating func appendSteps(of outcomes: ContentOutcomes, first: Int) {
        var cuts = 0
        for (serial, lengthValue, step) in outcomes.steps {
            let length = (choice: first + 1, value: lengthValue)
            switch step {
            case .piece(let sector, let version, _, _):
                let choice = first + outcomes.choice(ofSector: sector)
                steps.append(Step(serial: serial, choice: choice, value: version, length: length))
            case .cut:
                cuts += 1
                steps.append(Step(serial: serial, choice: first, value: cuts, length: length))
            case .extend:
                steps.append(Step(serial: serial, choice: first + 1, value: lengthValue))
            }
        }
    }

    // MARK: Lists of values

    var nothing: [Int] { sizes.map { _ in 0 } }

    var everything: [Int] { sizes.map { $0 - 1 } }

    /// Each choice by itself, with odds for keeping that differ from seed to seed.
    func random(_ seed: UInt64) -> [Int] {
        var random = SeededGenerator(seed: seed)
        let keptInEight = [1, 4, 7][Int.random(in: 0..<3, using: &random)]
        return sizes.map { size in
            Int.random(in: 0..<8, using: &random) < keptInEight
                ? size - 1 : Int.random(in: 0..<size, using: &random)
        }
    }

    private func prefix(_ count: Int) -> [Int] {
        var values = nothing
        for step in steps.prefix(count) {
            values[step.choice] = step.value
            if let length = step.length { values[length.choice] = length.value }
        }
        return values
    }

    private func losing(_ step: Step) -> [Int] {
        var values = everything
        values[step.choice] = step.value - 1
        return values
    }

    private func keepingOnly(_ step: Step) -> [Int] {
        var values = nothing
        if names.indices.contains(step.choice) {
            var wanted = [names[step.choice]]
            for index in (0...step.choice).reversed()
            where wanted.contains(where: { $0.touchesNames(of: names[index]) }) {
                values[index] = 1
                wanted.append(names[index])
            }
        } else {
            // Without its file's name a change would not be seen.
            for index in names.indices { values[index] = 1 }
            values[step.choice] = step.value
            if let length = step.length { values[length.choice] = length.value }
        }
        return values
    }

    /// Everything of these kinds, and nothing of the others.
    private func keeping(names keepsNames: Bool, lengths: Bool, content: Bool) -> [Int] {
        var values = nothing
        for index in names.indices where keepsNames { values[index] = 1 }
        for (choices, _) in files.values {
            for index in choices {
                let isLength = index <= choices.lowerBound + 1
                if isLength ? lengths : content { values[index] = sizes[index] - 1 }
            }
        }
        return values
    }

    // MARK: Outcomes

    func outcomes(limit: Int, seed: UInt64) -> [CrashOutcome] {
        var seen: Set<[Int]> = []
        if let all = allValues(limit: limit) {
            return all.map(normalized).filter { seen.insert($0).inserted }.map { .choosing($0) }
        }
        var broad = [nothing, everything]
        broad.append(keeping(names: true, lengths: false, content: false))
        broad.append(keeping(names: true, lengths: true, content: false))
        broad.append(keeping(names: false, lengths: true, content: true))
        let singleCount = 3 * steps.count
        let taken = min(max(0, limit - limit / 4 - broad.count), singleCount)
        let even = (0..<taken).map { single($0 * singleCount / taken) }
        var outcomes: [CrashOutcome] = []
        for values in (broad + even).map(normalized)
        where outcomes.count < limit && seen.insert(values).inserted {
            outcomes.append(.choosing(values))
        }
        // The state has more outcomes than the limit, but a generator may take long to meet the
        // last ones.
        for offset in 0..<UInt64(limit) where outcomes.count < limit {
            if seen.insert(normalized(random(seed &+ offset))).inserted {
                outcomes.append(.seeded(seed &+ offset))
            }
        }
        return outcomes
    }

    /// One of the outcomes that tell a single change from the others.
    private func single(_ number: Int) -> [Int] {
        let index = number / 3
        return switch number % 3 {
        case 0: prefix(index)
        case 1: losing(steps[index])
        default: keepingOnly(steps[index])
        }
    }

    /// Every list of values, if there are no more than the limit.
    private func allValues(limit: Int) -> [[Int]]? {
        var count = 1
        for size in sizes {
            count = count.multipliedReportingOverflow(by: size).partialValue
            guard count <= limit else { return nil }
        }
        return (0..<count).map { number in
            var rest = number
            return sizes.map { size in
                defer { rest /= size }
                return rest % size
            }
        }
    }

    // MARK: The disk

    /// Which changes of names survive: those chosen, but none without the changes of the same
    /// name before it.
    private func survivingNames(_ values: [Int]) -> [Bool] {
        var lost: [SimulatedDisk.NameChange] = []
        return names.enumerated().map { index, change in
            if values[index] == 1, !lost.contains(where: { $0.touchesNames(of: change) }) {
                return true
            }
            lost.append(change)
            return false
        }
    }

    /// The one list of values that stands for an outcome: what nobody can see is lost.
    private func normalized(_ values: [Int]) -> [Int] {
        var normalized = nothing
        let surviving = survivingNames(values)
        for (index, survives) in surviving.enumerated() where survives { normalized[index] = 1 }
        let reachable = disk.keepingNames(surviving).reachableFiles
        for (node, file) in files where reachable.contains(node) {
            let own = file.outcomes.normalized(values[file.choices])
            normalized.replaceSubrange(file.choices, with: own)
        }
        return normalized
    }

    /// The disk after these choices, everything on it durable.
    func disk(choosing values: [Int]) -> SimulatedDisk {
        var result = disk.keepingNames(survivingNames(values))
        let reachable = result.reachableFiles
        for (node, content) in disk.files {
            guard reachable.contains(node) else {
                result.files[node] = nil
                continue
            }
            let bytes = files[node].map { $0.outcomes.content(choosing: values[$0.choices]) }
            result.files[node] = SimulatedContent(
                durable: bytes ?? content.durable,
                modified: content.modified
            )
        }
        return result
    }
}

extension SimulatedDisk {
    /// The disk with its names as a power loss leaves them, and no open files.
    fileprivate func keepingNames(_ survives: [Bool]) -> SimulatedDisk {
        var disk = withoutOpenFiles()
        for (change, survives) in zip(unsyncedNames, survives) where survives {
            for entry in change.entries {
                disk.directories[entry.directory]?.durable[entry.name] = entry.node
            }
        }
        disk.unsyncedNames = []
        for (node, directory) in disk.directories {
            disk.directories[node] = Directory(live: directory.durable, durable: directory.durable)
        }
        return disk
    }

    /// The files that have a path from the root.
    fileprivate var reachableFiles: Set<Int> {
        var found: Set<Int> = []
        var directoriesToVisit = [Self.root]
        while let node = directoriesToVisit.popLast() {
            for entry in directories[node, default: Directory()].live.values {
                if directories[entry] == nil {
                    found.insert(entry)
                } else {
                    directoriesToVisit.append(entry)
                }
            }
        }
        return found
    }
}

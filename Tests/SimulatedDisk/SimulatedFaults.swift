// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// One call that a simulated file system received.
package struct SimulatedCall: Hashable, Sendable {
    /// Its place among all calls, from 1.
    package internal(set) var number = 0
    /// Which call; asking whether a path exists is a `stat`, unlocking is a `lock`.
    package var kind: FileError.Call
    /// What it was about.
    package var path: String
    /// Where a rename went.
    package var target: String?
    /// Where it read or wrote, or the length it asked for.
    package var offset: UInt64?
    /// How much it asked to read or write.
    package var byteCount: Int?

    init(
        _ kind: FileError.Call,
        _ path: String,
        target: String? = nil,
        offset: UInt64? = nil,
        byteCount: Int? = nil
    ) {
        self.kind = kind
        self.path = path
        self.target = target
        self.offset = offset
        self.byteCount = byteCount
    }

    /// Whether a crash right after this call can differ from one right before it.
    package var changesDisk: Bool {
        switch kind {
        // Opening may create.
        case .open, .write, .sync, .truncate, .allocate, .rename, .link, .remove, .createDirectory,
            .syncDirectory:
            true
        case .stat, .list, .read, .lock: false
        }
    }
}

extension SimulatedCall: CustomStringConvertible {
    /// Such as `17 pwrite /store/segments/1.seg at 4096 for 512`.
    package var description: String {
        var text = "\(number) \(kind.rawValue) \(path)"
        if let target { text += " to \(target)" }
        if let offset { text += " at \(offset)" }
        if let byteCount { text += " for \(byteCount)" }
        return text
    }
}

/// What is counted about a simulated file system's calls, and which of them go wrong.
struct SimulatedFaults: Sendable {
    /// What is to become of a call.
    enum Verdict {
        case proceed
        /// The machine has stopped: nothing happens any more.
        case stopped
        case fail(Int32, writing: Int)
    }

    private struct Failure {
        var number: Int
        var kind: FileError.Call?
        var errorNumber: Int32
        var isForGood: Bool
        var writtenByteCount: Int
    }

    private struct ReadFailure {
        var node: Int
        var range: Range<Int>
        var errorNumber: Int32
    }

    let keepsTrace: Bool
    private(set) var callCount = 0
    private(set) var countByKind: [FileError.Call: Int] = [:]
    /// How many bytes reads wanted.
    private(set) var readByteCount = 0
    private(set) var trace: [SimulatedCall] = []
    /// Whether the sync that was let through last is to do nothing.
    private(set) var ignoresThisCall = false
    var stopsAt = Int.max
    var ignoredNumbers: [FileError.Call: Set<Int>] = [:]
    var ignoredPaths: [FileError.Call: [@Sendable (String) -> Bool]] = [:]
    private var failures: [Failure] = []
    private var readFailures: [ReadFailure] = []

    init(keepsTrace: Bool) {
        self.keepsTrace = keepsTrace
    }

    /// Counts a call and says what becomes of it.
    mutating func admit(_ call: SimulatedCall) -> Verdict {
        callCount += 1
        let number = countByKind[call.kind, default: 0] + 1
        countByKind[call.kind] = number
        if call.kind == .read { readByteCount += call.byteCount ?? 0 }
        guard callCount < stopsAt else {
            return .stopped
        }
        if keepsTrace {
            var call = call
            call.number = callCount
            trace.append(call)
        }
        for failure in failures {
            let reached =
                failure.kind == nil ? callCount : failure.kind == call.kind ? number : 0
            if reached == failure.number || (failure.isForGood && reached > failure.number) {
                return .fail(failure.errorNumber, writing: failure.writtenByteCount)
            }
        }
        ignoresThisCall =
            !ignoredNumbers.isEmpty && ignoredNumbers[call.kind]?.contains(number) == true
            || !ignoredPaths.isEmpty
                && ignoredPaths[call.kind]?.contains { $0(call.path) } == true
        return .proceed
    }

    mutating func fail(
        _ number: Int,
        of kind: FileError.Call?,
        with errorNumber: Int32,
        forGood: Bool,
        writing byteCount: Int
    ) {
        failures.append(
            Failure(
                number: number,
                kind: kind,
                errorNumber: errorNumber,
                isForGood: forGood,
                writtenByteCount: byteCount
            )
        )
    }

    mutating func failReads(of node: Int, in range: Range<Int>, with errorNumber: Int32) {
        readFailures.append(ReadFailure(node: node, range: range, errorNumber: errorNumber))
    }

    /// The error that reading a range of a file meets, if any.
    func readFailure(of node: Int, in range: Range<Int>) -> Int32? {
        readFailures.first { $0.node == node && $0.range.overlaps(range) }?.errorNumber
    }

    /// Lets every call go well again; counts and trace stay.
    mutating func clear() {
        stopsAt = Int.max
        ignoredNumbers = [:]
        ignoredPaths = [:]
        failures = []
        readFailures = []
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
public import TidemarkModel

/// A service for tests, in front of any other service, that injects faults, delays and changes.
///
/// Faults apply in the order in which they were added, each to the next call of its kind.
///
/// ```swift
/// let faulty = FaultyService(store)
/// let busy = SyncError(.zoneBusy, "Another device writes.")
/// faulty.failNext(.save, with: busy)
/// faulty.loseNextAnswer(to: .save)
/// ```
public final class FaultyService: Sendable {
    /// Kinds of calls.
    public enum Call: Hashable, Sendable {
        /// Fetching records, zones, subscriptions or changes, and queries.
        case fetch
        /// Records, zones or subscriptions are saved or deleted.
        case save
        /// Fetching the bytes of an asset.
        case download
        /// Any other call.
        case other
    }

    private struct Fault: Sendable {
        var call: Call
        var error: SyncError
        /// True if the call is performed and its answer lost.
        var losesAnswer: Bool
        var count: Int
    }

    private struct State: Sendable {
        var faults: [Fault] = []
        var recordFaults: [String: SyncError] = [:]
        var beforeWrites: [@Sendable () async -> Void] = []
        var isHolding = false
        /// The calls that wait, each with its number.
        var held: [(call: Int, continuation: CheckedContinuation<Bool, Never>)] = []
        var callCount = 0
    }

    /// The underlying service.
    let service: @Sendable () async throws(SyncError) -> any DatabaseService
    private let state = Lock(State())

    /// Creates a service in front of another one.
    public init(_ service: any DatabaseService) {
        self.service = { service }
    }

    /// Creates a service in front of one that may not be available yet: each call requests it.
    public init(
        _ service: @escaping @Sendable () async throws(SyncError) -> any DatabaseService
    ) {
        self.service = service
    }
}

// MARK: - Adding faults

extension FaultyService {
    /// Makes the next calls of a kind fail before they are performed.
    public func failNext(_ call: Call, with error: SyncError, times count: Int = 1) {
        add(Fault(call: call, error: error, losesAnswer: false, count: count))
    }

    /// Makes the next calls of a kind fail after they are performed: their answers are lost.
    public func loseNextAnswer(
        to call: Call,
        with error: SyncError = SyncError(.serverResponseLost, "The test discarded the answer."),
        times count: Int = 1
    ) {
        add(Fault(call: call, error: error, losesAnswer: true, count: count))
    }

    private func add(_ fault: Fault) {
        precondition(fault.count > 0, "A fault has to happen at least once.")
        state.withLock { $0.faults.append(fault) }
    }

    /// Makes the next save of a record with this name fail; the record is not changed.
    ///
    /// The rest of the request is performed. In an atomic request, the other items of the record's zone
    /// fail with `batchRequestFailed`, except in a default zone, which has no atomic commits.
    public func failNextSave(ofRecordNamed name: String, with error: SyncError) {
        state.withLock { $0.recordFaults[name] = error }
    }

    /// Runs a closure just before the next request to save or delete records is performed.
    ///
    /// It simulates what another device does at that moment.
    public func beforeNextWrite(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { $0.beforeWrites.append(body) }
    }

    /// Holds calls from now on, before they are performed.
    ///
    /// A held call ends with `operationCancelled` if its task is cancelled.
    public func hold() {
        state.withLock { $0.isHolding = true }
    }

    /// Releases held calls.
    public func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHolding = false
            return state.held
        }
        for (_, continuation) in held { continuation.resume(returning: true) }
    }

    /// The number of calls that wait.
    public var heldCallCount: Int { state.withLock { $0.held.count } }
}

// MARK: - Applying faults

extension FaultyService {
    /// Makes a call of the underlying service, with its faults.
    func pass<Answer>(
        _ call: Call,
        _ body: (any DatabaseService) async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        // Held calls have not taken a fault yet, so a fault that a test adds while it holds them
        // applies to them.
        try await waitWhileHeld()
        let fault = nextFault(of: call)
        if let fault, !fault.losesAnswer { throw fault.error }
        // A fault of a call applies even if there is no service behind it.
        let service = try await service()
        let answer = try await body(service)
        // The service has performed the call, and its answer is lost.
        if let fault { throw fault.error }
        return answer
    }

    private func waitWhileHeld() async throws(SyncError) {
        let call = state.withLock { state in
            state.callCount += 1
            return state.callCount
        }
        let isReleased = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReleased: Bool? = state.withLock { state in
                    // Decided under the lock that `release()` and the cancellation take, so no call
                    // waits after either.
                    guard state.isHolding else { return true }
                    if Task.isCancelled { return false }
                    state.held.append((call, continuation))
                    return nil
                }
                if let isReleased { continuation.resume(returning: isReleased) }
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                state.held.firstIndex { $0.call == call }.map { state.held.remove(at: $0) }
            }
            cancelled?.continuation.resume(returning: false)
        }
        if !isReleased { throw SyncError(.operationCancelled, "The held call was cancelled.") }
    }

    private func nextFault(of call: Call) -> Fault? {
        state.withLock { state in
            // Faults of other kinds keep their places: the order counts within one kind.
            guard let index = state.faults.firstIndex(where: { $0.call == call }) else {
                return nil
            }
            let fault = state.faults[index]
            state.faults[index].count -= 1
            if fault.count == 1 { state.faults.remove(at: index) }
            return fault
        }
    }

    /// Returns the errors for the records of a request that are set to fail, by their positions.
    private func takeFaults(_ saves: [RecordSave]) -> [Int: SyncError] {
        state.withLock { state in
            var faults: [Int: SyncError] = [:]
            for (index, save) in saves.enumerated() {
                let name = save.recordID.recordName
                faults[index] = state.recordFaults.removeValue(forKey: name)
            }
            return faults
        }
    }

    /// Saves and deletes the records of a request that are not set to fail.
    func modify(
        _ request: ModifyRecordsRequest,
        by perform: (ModifyRecordsRequest) async throws(SyncError) -> ModifyRecordsResult
    ) async throws(SyncError) -> ModifyRecordsResult {
        let faults = takeFaults(request.saves)
        // Each zone of an atomic request in which an item fails, and that item.
        var failed: [ZoneID: RecordID] = [:]
        for index in faults.keys where request.isAtomic {
            let record = request.saves[index].recordID
            if !record.zone.isDefault { failed[record.zone] = record }
        }
        func error(_ record: RecordID) -> SyncError? {
            failed[record.zone].map { .batchFailed(record, because: $0) }
        }
        let saves = request.saves.enumerated().map { faults[$0] ?? error($1.recordID) }
        let deletions = request.deletions.map { error($0.recordID) }
        var rest = request
        rest.saves = zip(request.saves, saves).filter { $1 == nil }.map(\.0)
        rest.deletions = zip(request.deletions, deletions).filter { $1 == nil }.map(\.0)
        var done = ModifyRecordsResult(saves: [], deletions: [])
        if faults.isEmpty || !rest.saves.isEmpty || !rest.deletions.isEmpty {
            await runBeforeWrite()
            done = try await perform(rest)
        }
        return ModifyRecordsResult(
            saves: Self.merged(saves, done.saves),
            deletions: Self.merged(deletions, done.deletions)
        )
    }

    /// Returns the results of all items, from the errors of some and the results of the others.
    private static func merged<Value>(
        _ errors: [SyncError?],
        _ done: [Result<Value, SyncError>]
    ) -> [Result<Value, SyncError>] {
        var done = done.makeIterator()
        return errors.compactMap { $0.map { .failure($0) } ?? done.next() }
    }

    /// Runs the closures that wait for the next write.
    private func runBeforeWrite() async {
        let bodies = state.withLock { state in
            defer { state.beforeWrites = [] }
            return state.beforeWrites
        }
        // A closure may write through this service. It was taken out of the state, so that write
        // does not run it again.
        for body in bodies { await body() }
    }
}

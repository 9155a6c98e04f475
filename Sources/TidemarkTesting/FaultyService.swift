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
        var held: [CheckedContinuation<Void, Never>] = []
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
        precondition(fault.count > 0, "a fault has to happen at least once")
        state.withLock { $0.faults.append(fault) }
    }

    /// Makes the next request fail that saves a record with this name, before it is performed.
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
        for continuation in held { continuation.resume() }
    }

    /// The number of calls that wait.
    public var heldCallCount: Int { state.withLock { $0.held.count } }
}

// MARK: - Applying faults

extension FaultyService {
    /// Makes a call of the underlying service, with its faults.
    func pass<Answer>(
        _ call: Call,
        _ request: ModifyRecordsRequest? = nil,
        _ body: (any DatabaseService) async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        // Held calls have not taken a fault yet, so a fault that a test adds while it holds them
        // applies to them.
        await waitWhileHeld()
        let fault = nextFault(of: call)
        if let fault, !fault.losesAnswer { throw fault.error }
        // A fault of a call applies even if there is no service behind it.
        let service = try await service()
        // After the fault of the call: a request that fails anyway neither uses up the fault of a
        // record nor runs the closures.
        if let request { try await prepare(request) }
        let answer = try await body(service)
        // The service has performed the call, and its answer is lost.
        if let fault { throw fault.error }
        return answer
    }

    private func waitWhileHeld() async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                // Decided under the lock that `release()` takes, so no call waits after the
                // release.
                if state.isHolding { state.held.append(continuation) }
                return state.isHolding
            }
            if !isHeld { continuation.resume() }
        }
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

    /// Throws the error for a record that is set to fail, and runs the closure before a write.
    private func prepare(_ request: ModifyRecordsRequest) async throws(SyncError) {
        let names = request.saves.map(\.recordID.recordName)
        let (error, bodies) = state.withLock {
            state -> (SyncError?, [@Sendable () async -> Void]) in
            for name in names {
                // The request ends before the closures, which stay for the next write.
                if let error = state.recordFaults.removeValue(forKey: name) { return (error, []) }
            }
            defer { state.beforeWrites = [] }
            return (nil, state.beforeWrites)
        }
        if let error { throw error }
        // The closure may write through this service. It was taken out of the state, so that write
        // does not run it again.
        for body in bodies { await body() }
    }
}

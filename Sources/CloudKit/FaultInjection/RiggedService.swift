// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark

/// A service that does what a test wants to see once: fails, waits, or lets something happen first.
///
/// ```swift
/// let rigged = RiggedService(.temporary())
/// let phone = TidemarkDevice(TidemarkCloud(rigged), user: "anna")
/// rigged.failNext(.save, with: .zoneBusy, retryAfter: 0.1)
/// ```
public final class RiggedService: Sendable {
    /// What is asked of a service.
    public enum Call: Hashable, Sendable {
        /// Records or zones are fetched, or what changed in them, or records are found.
        case fetch
        /// Records, zones or subscriptions are saved or deleted.
        case save
        /// Anything else.
        case other
    }

    private struct Failure: Sendable {
        let call: Call
        let error: SyncError
        var count: Int
    }

    private struct State: Sendable {
        var failures: [Failure] = []
        var recordFailures: [String: SyncError] = [:]
        var beforeWrites: [@Sendable () async -> Void] = []
        var isHolding = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    let cloud: TidemarkCloud
    private let state = Lock(State())

    /// Stands before what a cloud has.
    public init(_ cloud: TidemarkCloud) {
        self.cloud = cloud
    }

    // MARK: What is to happen

    /// Lets the next calls of a kind fail, before anything is done.
    public func failNext(
        _ call: Call,
        with code: CKError.Code,
        retryAfter: Double? = nil,
        times count: Int = 1
    ) {
        let error = Self.error(code, retryAfter)
        state.withLock {
            $0.failures.append(Failure(call: call, error: error, count: count))
        }
    }

    /// Lets the next request fail that saves a record of this name, before anything is done.
    public func failNextSave(
        ofRecordNamed name: String,
        with code: CKError.Code,
        retryAfter: Double? = nil
    ) {
        let error = Self.error(code, retryAfter)
        state.withLock { $0.recordFailures[name] = error }
    }

    /// Runs something just before the next request to save or delete records is done: what another
    /// device does in that moment.
    public func beforeNextWrite(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { $0.beforeWrites.append(body) }
    }

    /// Lets calls wait from now on, before anything is done.
    public func hold() {
        state.withLock { $0.isHolding = true }
    }

    /// Lets calls go on.
    public func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHolding = false
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    /// How many calls are waiting.
    public var heldCallCount: Int { state.withLock { $0.held.count } }

    private static func error(_ code: CKError.Code, _ retryAfter: Double?) -> SyncError {
        SyncError(
            SyncError.Code(rawValue: code.rawValue) ?? .internalError,
            "A test wanted it to fail.",
            retryAfter: retryAfter
        )
    }

    // MARK: What happens

    /// What the calls go to, once they may.
    func pass(_ call: Call) async throws(SyncError) -> any DatabaseService {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                if state.isHolding { state.held.append(continuation) }
                return state.isHolding
            }
            if !isHeld { continuation.resume() }
        }
        let error = state.withLock { state -> SyncError? in
            guard let index = state.failures.firstIndex(where: { $0.call == call }) else {
                return nil
            }
            let error = state.failures[index].error
            state.failures[index].count -= 1
            if state.failures[index].count <= 0 { state.failures.remove(at: index) }
            return error
        }
        if let error { throw error }
        return try await cloud.service()
    }

    /// What a request to save or delete records goes to, once it may.
    func pass(_ request: ModifyRecordsRequest) async throws(SyncError) -> any DatabaseService {
        let service = try await pass(.save)
        let names = request.saves.map(\.recordID.recordName)
        let (error, bodies) = state.withLock {
            state -> (SyncError?, [@Sendable () async -> Void]) in
            for name in names {
                if let error = state.recordFailures.removeValue(forKey: name) { return (error, []) }
            }
            defer { state.beforeWrites = [] }
            return (nil, state.beforeWrites)
        }
        if let error { throw error }
        for body in bodies { await body() }
        return service
    }
}

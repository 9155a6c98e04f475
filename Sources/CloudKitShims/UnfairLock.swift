// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A lock around some state, as the module `os` has it.
///
/// Unchecked: the state is touched under the lock alone.
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
    // A class, because copies of the structure share one lock, as copies of Apple's do.
    private final class Storage {
        var state: State
        let lock = NSLock()

        init(_ state: State) {
            self.state = state
        }
    }

    private let storage: Storage

    /// Creates a lock around a state that is not sendable.
    public init(uncheckedState: State) {
        storage = Storage(uncheckedState)
    }

    /// Runs a body with the state, without checking that the result can be sent.
    public func withLockUnchecked<Result>(
        _ body: (inout State) throws -> Result
    ) rethrows -> Result {
        try storage.lock.withLock { try body(&storage.state) }
    }

    /// Runs a body with the state if the lock is free, without checking that the result can be sent;
    /// returns `nil` if the lock is taken.
    public func withLockIfAvailableUnchecked<Result>(
        _ body: (inout State) throws -> Result
    ) rethrows -> Result? {
        guard storage.lock.try() else { return nil }
        defer { storage.lock.unlock() }
        return try body(&storage.state)
    }

    /// Runs a body with the state if the lock is free; returns `nil` if it is taken.
    public func withLockIfAvailable<Result: Sendable>(
        _ body: @Sendable (inout State) throws -> Result
    ) rethrows -> Result? {
        try withLockIfAvailableUnchecked(body)
    }

    /// Runs a body with the state.
    public func withLock<Result: Sendable>(
        _ body: @Sendable (inout State) throws -> Result
    ) rethrows -> Result {
        try withLockUnchecked(body)
    }
}

extension OSAllocatedUnfairLock where State: Sendable {
    /// Creates a lock around a state.
    public init(initialState: State) {
        self.init(uncheckedState: initialState)
    }
}

extension OSAllocatedUnfairLock where State == Void {
    /// Creates a lock without a state.
    public init() {
        self.init(uncheckedState: ())
    }

    /// Takes the lock; the same thread must release it.
    public func lock() { storage.lock.lock() }

    /// Releases the lock.
    public func unlock() { storage.lock.unlock() }

    /// Takes the lock if it is free, and returns true if it did.
    public func lockIfAvailable() -> Bool { storage.lock.try() }

    /// Runs a body under the lock, without checking that the result can be sent.
    public func withLockUnchecked<Result>(_ body: () throws -> Result) rethrows -> Result {
        try withLockUnchecked { _ in try body() }
    }

    /// Runs a body under the lock if it is free; returns `nil` if it is taken.
    public func withLockIfAvailable<Result: Sendable>(
        _ body: @Sendable () throws -> Result
    ) rethrows -> Result? {
        try withLockIfAvailableUnchecked { _ in try body() }
    }

    /// Runs a body under the lock.
    public func withLock<Result: Sendable>(
        _ body: @Sendable () throws -> Result
    ) rethrows -> Result {
        try withLockUnchecked { _ in try body() }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if TIDEMARK_PTHREAD_LOCK
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
#else
public import Synchronization
#endif

/// State that one thread at a time may access: the only lock in Tidemark.
///
/// The lock is a `Mutex`. The thread sanitizer does not see how `Mutex` orders its users on Linux,
/// and reports races for correct code. A build with `TIDEMARK_PTHREAD_LOCK` defined therefore has a
/// POSIX mutex instead; the manifest defines it if the environment contains `TIDEMARK_TSAN`.
///
/// Not recursive. Use the lock for small state and short work: never call a file, a callback or
/// another lock while holding it, unless the type that owns both documents why that is safe.
///
/// Public, because the compiler specializes only public code in other modules: an unspecialized
/// call would look up type metadata on every use.
public struct Lock<State: ~Copyable>: ~Copyable, Sendable {
    #if TIDEMARK_PTHREAD_LOCK
    @usableFromInline let storage: PthreadLock<State>
    #else
    @usableFromInline let storage: Mutex<State>
    #endif

    /// Creates a lock with an initial state.
    @inlinable
    public init(_ state: consuming sending State) {
        #if TIDEMARK_PTHREAD_LOCK
        storage = PthreadLock(state)
        #else
        storage = Mutex(state)
        #endif
    }

    /// Waits for the lock, runs the closure with the state, and releases the lock, even if the
    /// closure throws.
    @inlinable
    @inline(__always)
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try storage.withLock(body)
    }
}

#if TIDEMARK_PTHREAD_LOCK
/// A POSIX mutex and the state it guards.
///
/// Unchecked: `state` is only accessed between locking and unlocking `mutex`.
@usableFromInline
final class PthreadLock<State: ~Copyable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    @usableFromInline
    init(_ state: consuming sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let failure = pthread_mutex_init(mutex, nil)
        precondition(failure == 0, "pthread_mutex_init failed with error \(failure)")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @usableFromInline
    func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
#endif

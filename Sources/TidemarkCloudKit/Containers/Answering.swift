// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkLock

/// A closure that receives the result of a call.
typealias ResultHandler<Value> = @Sendable (Result<Value, any Error>) -> Void

/// Waits for the result of an operation; cancelling the task cancels the operation.
func answer<Value: Sendable>(
    _ begin: (@escaping ResultHandler<Value>) -> CKOperation
) async throws -> Value {
    let begun = BegunOperation()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            // Each operation calls its last block exactly once, cancelled or not, so the
            // continuation is resumed exactly once.
            begun.set(begin { continuation.resume(with: $0) })
        }
    } onCancel: {
        begun.cancel()
    }
}

/// An operation that may be cancelled before it has begun.
private final class BegunOperation: Sendable {
    private struct State {
        var operation: CKOperation?
        var isCancelled = false
    }

    private let state = Lock(State())

    func set(_ operation: CKOperation) {
        let isCancelled = state.withLock { state in
            state.operation = operation
            return state.isCancelled
        }
        if isCancelled { operation.cancel() }
    }

    func cancel() {
        let operation = state.withLock { state in
            state.isCancelled = true
            return state.operation
        }
        operation?.cancel()
    }
}

extension Result {
    /// The success; `nil` for a failure.
    var value: Success? {
        if case .success(let value) = self { value } else { nil }
    }

    /// The failure; `nil` for a success.
    var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension Result where Success == Void, Failure == any Error {
    /// Creates the result for a block from an error that older blocks receive as an optional.
    init(failing error: (any Error)?) {
        self = error.map { .failure($0) } ?? .success(())
    }
}

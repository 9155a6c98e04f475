// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkLock

/// The results that blocks of single items receive, until the block of the whole operation is
/// called.
final class Collected<Items: Sendable>: Sendable {
    private let state: Lock<Items>

    init(_ items: Items) {
        state = Lock(items)
    }

    /// Adds results, in place: a copy of what was collected would make an operation with n items
    /// take O(n²).
    func add(_ change: (inout Items) -> Void) {
        state.withLock { items in change(&items) }
    }

    var items: Items { state.withLock { $0 } }
}

extension CKError {
    /// Returns the error of an operation whose items have errors; `nil` if none has.
    static func ofItems(_ errors: [AnyHashable: any Error]) -> CKError? {
        errors.isEmpty ? nil : CKError(partialErrors: errors)
    }
}

/// Returns true if an operation that ends with or without an error has results for its items.
func hasItems(_ error: (any Error)?) -> Bool {
    error.map { ($0 as? CKError)?.code == .partialFailure } ?? true
}

extension Result where Success == Void, Failure == any Error {
    /// Returns the collected results, unless the request failed as a whole.
    ///
    /// Errors of items are in the collected results.
    func collecting<Items>(_ collected: Collected<Items>) -> Result<Items, any Error> {
        if case .failure(let error) = self, !hasItems(error) { return .failure(error) }
        return .success(collected.items)
    }
}

extension Result where Failure == any Error {
    /// Returns the result of one item.
    func item<ID, Value>(_ id: ID) -> Result<Value, any Error>
    where Success == [ID: Result<Value, any Error>] {
        flatMap { items in
            items[id]
                ?? .failure(CKError(.internalError, "The service returned no result for \(id)."))
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkLock
import TidemarkModel

/// What the blocks of single items hand over, until that of the whole is called.
final class Collected<Items: Sendable>: Sendable {
    private let state: Lock<Items>

    init(_ items: Items) {
        state = Lock(items)
    }

    func add(_ change: (inout Items) -> Void) {
        state.withLock { items in
            var copy = items
            change(&copy)
            items = copy
        }
    }

    var items: Items { state.withLock { $0 } }
}

extension CKError {
    /// What an operation ends with whose items have errors; `nil` if none has.
    static func ofItems(_ errors: [AnyHashable: any Error]) -> CKError? {
        errors.isEmpty ? nil : CKError(partialErrors: errors)
    }
}

/// Whether an operation that ends with an error, or without one, has something to say of its items.
func hasItems(_ error: (any Error)?) -> Bool {
    error.map { ($0 as? CKError)?.code == .partialFailure } ?? true
}

extension Result where Success == Void, Failure == any Error {
    /// What was collected, unless the request failed as a whole: errors of items are among the items.
    func collecting<Items>(_ collected: Collected<Items>) -> Result<Items, any Error> {
        if case .failure(let error) = self, !hasItems(error) { return .failure(error) }
        return .success(collected.items)
    }
}

extension Result where Failure == any Error {
    /// What became of one item.
    func item<ID, Value>(_ id: ID) -> Result<Value, any Error>
    where Success == [ID: Result<Value, any Error>] {
        flatMap { items in
            items[id]
                ?? .failure(CKError(.internalError, "The service said nothing about \(id)."))
        }
    }
}

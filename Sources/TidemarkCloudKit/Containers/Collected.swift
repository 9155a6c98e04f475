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

    /// `partialFailure` with the errors of single items, of which the text has the first three by name.
    private init(partialErrors errors: [AnyHashable: any Error]) {
        let causes = errors.map { "\(Self.name(of: $0.key)): \(Self.cause(of: $0.value))" }.sorted()
        let count = causes.count == 1 ? "1 item" : "\(causes.count) items"
        let rest = causes.count > 3 ? " And \(causes.count - 3) more." : ""
        let first = causes.prefix(3).joined(separator: " ")
        let message = "\(count) of the request failed. \(first)\(rest)"
        self.init(
            .partialFailure,
            userInfo: [
                NSLocalizedDescriptionKey: message,
                "CKErrorDescription": message,
                CKPartialErrorsByItemIDKey: errors,
            ]
        )
    }

    /// Returns the name of an item of a request.
    private static func name(of item: AnyHashable) -> String {
        switch item.base {
        case let record as CKRecord.ID: "record \(record.recordName)"
        case let zone as CKRecordZone.ID: "zone \(zone.zoneName)"
        default: "\(item.base)"
        }
    }

    /// Returns the code and the message of an item's error.
    private static func cause(of error: any Error) -> String {
        guard let error = error as? CKError else { return error.localizedDescription }
        return "\(error.code): \(error.localizedDescription)"
    }
}

/// Returns true if an operation that ends with or without an error has results for its items.
func hasItems(_ error: (any Error)?) -> Bool {
    error.map { ($0 as? CKError)?.code == .partialFailure } ?? true
}

extension Result where Success == Void, Failure == any Error {
    /// Creates the result of a whole operation for the newer blocks.
    ///
    /// As on Apple's systems, they receive no `partialFailure`: the errors of items were in the
    /// blocks of the items. The older blocks receive it.
    init(ofWhole error: (any Error)?) {
        self.init(failing: hasItems(error) ? nil : error)
    }

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

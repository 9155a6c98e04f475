// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// An argument of a predicate that no field can be compared with.
struct UnsupportedArgument: Error {
    /// The argument's type.
    let type: String
}

extension Query.Operand {
    /// Converts an argument of a predicate's format.
    init(_ argument: Any?) throws(UnsupportedArgument) {
        guard let argument = argument.flatMap(RecordValue.unwrapped), !(argument is NSNull) else {
            self = .null
            return
        }
        if let name = (argument as? CKRecordID)?.recordName {
            self = .value(.reference(Reference(recordName: name)))
            return
        }
        if let list = Self.recordIDs(argument) {
            self = .value(
                .referenceList(list.map { Reference(recordName: $0.recordName) })
            )
            return
        }
        // A zone never occurs in a predicate: a target is in the zone of the record that refers to
        // it.
        guard let value = RecordValue(Self.list(argument) ?? argument),
            let operand = try? value.model(in: .default)
        else { throw UnsupportedArgument(type: "\(Swift.type(of: argument))") }
        self = .value(operand)
    }

    /// Returns the elements of a set; `nil` for any other object.
    private static func list(_ argument: Any) -> [Any]? {
        if let set = argument as? NSSet { return set.allObjects }
        return (argument as? Set<AnyHashable>).map { $0.map(\.base) }
    }

    /// Returns the records that a list or set names by their identities; `nil` if it is another
    /// one.
    private static func recordIDs(_ argument: Any) -> [CKRecordID]? {
        guard let list = list(argument) ?? argument as? [Any], !list.isEmpty else { return nil }
        let ids = list.compactMap { $0 as? CKRecordID }
        return ids.count == list.count ? ids : nil
    }
}

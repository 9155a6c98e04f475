// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The record type and the fields of a predicate that neither the schema nor, so far, a record has.
///
/// A predicate with a misspelled name matches no record, as one that states a rule which was never
/// broken. Records count besides the schema, because an import does not extend it, and because a
/// field may have been removed from it.
struct UnknownNames: Sendable {
    private let recordType: Name?
    private var isTypeKnown: Bool
    private var fields: [Name]

    /// Compares a predicate for records of a type, or of all types, with a schema.
    ///
    /// Throws the errors of a query that no record can match, such as a comparison with another
    /// type of value.
    init(
        of predicate: Query.Predicate,
        recordType: Name?,
        in schema: Schema
    ) throws(SyncError) {
        self.recordType = recordType
        var types = schema.recordTypes
        if let recordType {
            types = schema[recordType].map { [$0] } ?? []
            let query = Query(recordType: recordType.string, predicate: predicate)
            let type = types.first
            if let refusal = query.refusal({ type?[$0]?.type.queriedType }) { throw refusal }
        }
        isTypeKnown = recordType == nil || !types.isEmpty
        fields = predicate.requirements.compactMap { requirement in
            guard case .field(let name)? = requirement.key else { return nil }
            return types.contains { $0[name] != nil } ? nil : name
        }
    }

    /// True if there are none.
    var isEmpty: Bool { isTypeKnown && fields.isEmpty }

    /// Removes the names that a record of the type has.
    ///
    /// O(names).
    mutating func remove(namesOf body: RecordBody) {
        isTypeKnown = true
        fields.removeAll { body.fields.index(of: $0.string) != nil }
    }

    /// Throws the error that a query with such a name has.
    func check() throws(SyncError) {
        if let recordType, !isTypeKnown { throw .recordTypeNotFound(recordType) }
        guard let field = fields.first else { return }
        guard let recordType else { throw .fieldNotFound(field) }
        throw .fieldNotFound(field, in: recordType)
    }
}

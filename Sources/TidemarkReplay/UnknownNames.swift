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
    /// The error of a comparison with a type of value that the schema's field does not have.
    ///
    /// Older records may have it, so that it counts only if no record matched.
    private var mismatch: SyncError?

    /// Compares a predicate for records of a type, or of all types, with a schema.
    ///
    /// Throws the error of a predicate that no record can match whatever the schema is.
    init(of predicate: Query.Predicate, recordType: Name?, in schema: Schema) throws(SyncError) {
        self.recordType = recordType
        var types = schema.recordTypes
        if let recordType {
            types = schema[recordType].map { [$0] } ?? []
            let type = types.first
            if let problem = predicate.problem { throw .invalidPredicate(predicate, problem) }
            mismatch = predicate.mismatch { type?[$0]?.type.queriedType }
                .map { .invalidPredicate(predicate, $0) }
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

    /// Throws the error that a query with such a name has, given whether any record matched.
    func check(hasMatched: Bool) throws(SyncError) {
        if !hasMatched, let mismatch { throw mismatch }
        if let recordType, !isTypeKnown { throw .recordTypeNotFound(recordType) }
        guard let field = fields.first else { return }
        guard let recordType else { throw .fieldNotFound(field) }
        throw .fieldNotFound(field, in: recordType)
    }
}

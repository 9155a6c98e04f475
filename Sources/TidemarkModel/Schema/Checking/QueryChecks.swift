// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// Why the query cannot be answered whatever the records are: it is for records of users, or what
    /// it asks makes no sense for the types of the fields; `nil` if it can.
    ///
    /// `type` says the type of a field, or `nil` for one that is not known, which fits everything.
    package func refusal(_ type: (Name) -> FieldType?) -> SyncError? {
        if Name(recordType) == Schema.RecordType.users.name { return .usersNotQueried }
        if let problem = predicate.problem ?? predicate.mismatch(type) {
            return .invalidPredicate(predicate, problem)
        }
        guard sortDescriptors.count <= Self.sortDescriptorLimit else {
            return SyncError(
                .limitExceeded,
                "The order has \(sortDescriptors.count) criteria; at most "
                    + "\(Self.sortDescriptorLimit) are allowed."
            )
        }
        for descriptor in sortDescriptors where descriptor.origin != nil {
            let problem =
                switch descriptor.key {
                case .system(let field): "\(field.rawValue) is no location."
                case .field: Predicate.placeMismatch(descriptor.key, type)
                }
            if let problem {
                return SyncError(.invalidArguments, "The order was refused: \(problem)")
            }
        }
        return nil
    }

    /// The indexes that a schema must have for the query: ``requirements``, but for those of fields
    /// of bytes and assets, which have none and can be asked for their absence.
    package func schemaRequirements(_ type: (Name) -> FieldType?) -> [IndexRequirement] {
        requirements.filter { requirement in
            guard requirement.kind == .queryable, case .field(let name)? = requirement.key else {
                return true
            }
            switch type(name) {
            case .bytes, .bytesList, .asset, .assetList: return false
            default: return true
            }
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// Returns the error if the query cannot be answered whatever the records are; `nil` if it can.
    ///
    /// Either it is for records of users, or it makes no sense for the types of the fields. `type`
    /// returns the type of a field, or `nil` for an unknown field, which fits every query.
    package func refusal(_ type: (Name) -> FieldType?) -> SyncError? {
        if Name(recordType).isUsersType { return .usersNotQueried }
        if let problem = predicate.problem ?? predicate.mismatch(type) {
            return .invalidPredicate(predicate, problem)
        }
        guard sortDescriptors.count <= Self.sortDescriptorLimit else {
            return SyncError(
                .limitExceeded,
                "The order has \(sortDescriptors.count) criteria; at most "
                    + "\(Self.sortDescriptorLimit) are allowed.",
                remedy: "Sort by fewer fields."
            )
        }
        for descriptor in sortDescriptors {
            guard let origin = descriptor.origin else {
                guard case .field(let name) = descriptor.key, let type = type(name), !type.hasOrder
                else { continue }
                return SyncError(
                    .invalidArguments,
                    "The order was rejected: The field \"\(name)\" holds \(type.webName), which has "
                        + "no order.",
                    remedy: type == .location
                        ? "Sort by the distance of the field from a place."
                        : "Sort by another field."
                )
            }
            if let invalidity = origin.invalidity {
                return SyncError(
                    .invalidArguments,
                    "The order was rejected: The place to measure from \(invalidity).",
                    remedy: "Measure from a latitude of -90 to 90 and a longitude of -180 to 180."
                )
            }
            let problem =
                switch descriptor.key {
                case .system(let field): "\(field.rawValue) is not a location."
                case .field: Predicate.placeMismatch(descriptor.key, type)
                }
            if let problem {
                return SyncError(
                    .invalidArguments,
                    "The order was rejected: \(problem)",
                    remedy: "Sort by the distance of a field of the type LOCATION."
                )
            }
        }
        return nil
    }

    /// Returns the indexes that a schema must have for the query.
    ///
    /// They are those of ``requirements``, except for fields of bytes and assets. These have no
    /// indexes, and can be queried for their absence.
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

extension FieldType {
    /// True if values of the type have an order.
    fileprivate var hasOrder: Bool {
        switch self {
        case .string, .int64, .double, .timestamp, .reference: true
        default: false
        }
    }
}

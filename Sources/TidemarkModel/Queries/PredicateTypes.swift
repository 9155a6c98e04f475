// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// The maximum number of criteria in an order; CloudKit documents no limit.
    package static let sortDescriptorLimit = 32
}

extension Query.Predicate {
    /// Returns the first conflict with the types of the fields; `nil` if there is none.
    ///
    /// A whole sentence, with the remedy. `type` returns the type of a field, or `nil` for an
    /// unknown field, which takes every value.
    package func mismatch(_ type: (Name) -> FieldType?) -> String? {
        switch self {
        case .always, .never: return nil
        case .comparison(let comparison): return comparison.mismatch(type)
        case .words(let search): return search.key.flatMap { Self.wordsMismatch($0, type) }
        case .distance(let test): return Self.placeMismatch(test.key, type)
        case .and(let parts), .or(let parts):
            for part in parts {
                if let mismatch = part.mismatch(type) { return mismatch }
            }
            return nil
        case .not(let part): return part.mismatch(type)
        }
    }

    private static func wordsMismatch(_ key: Query.Key, _ type: (Name) -> FieldType?) -> String? {
        guard case .field(let name) = key, let type = type(name), type != .string,
            type != .stringList
        else { return nil }
        return "The field \"\(name)\" holds \(type.webName); words are in STRING and STRING_LIST."
    }

    static func placeMismatch(_ key: Query.Key, _ type: (Name) -> FieldType?) -> String? {
        guard case .field(let name) = key, let type = type(name), type != .location else {
            return nil
        }
        return "The field \"\(name)\" holds \(type.webName); a distance needs LOCATION."
    }
}

extension Query.Comparison {
    fileprivate func mismatch(_ type: (Name) -> FieldType?) -> String? {
        // A field of any type can be absent, so `nil` fits all of them.
        guard case .field(let name) = key, let type = type(name), operand != .null else {
            return nil
        }
        guard type != .bytes, type != .asset, type != .bytesList, type != .assetList else {
            return "The field \"\(name)\" holds \(type.webName), which cannot be queried. Compare "
                + "with nil, or keep a checksum in a field of its own."
        }
        switch relation {
        case .contains, .containsAll, .containsAny, .memberBeginsWith:
            guard let element = type.element else {
                let advice =
                    type == .string
                    ? " Use BEGINSWITH for how the text begins, or self CONTAINS for words in it."
                    : " Use == or IN."
                return "The field \"\(name)\" holds \(type.webName), and \(relation.text) looks "
                    + "into lists.\(advice)"
            }
            return mismatch(name, element, type)
        default:
            guard type.element == nil || comparesLists else {
                return "The field \"\(name)\" holds \(type.webName). Use CONTAINS for one of its "
                    + "values."
            }
            return mismatch(name, type.element ?? type, type)
        }
    }

    /// True if the operand is a list that is compared with a whole list.
    var comparesLists: Bool {
        guard case .value(let value) = operand, relation == .equal || relation == .notEqual else {
            return false
        }
        return value.type.element != nil
    }

    private func mismatch(_ name: Name, _ fieldType: FieldType, _ whole: FieldType) -> String? {
        let found: FieldType
        switch operand {
        case .null: return nil
        case .now: found = .timestamp
        case .value(let value):
            // An empty list has no element whose type could be wrong.
            if value.type.element != nil, value.elements.isEmpty { return nil }
            found = value.type.element ?? value.type
        }
        if comparesLists, whole.element == nil {
            return "The field \"\(name)\" holds \(whole.webName) and is compared with a list. Use "
                + "IN."
        }
        // INT64 and DOUBLE mix, because numbers are compared by their exact values.
        let numbers: Set<FieldType> = [.int64, .double]
        guard found != fieldType, !(numbers.contains(found) && numbers.contains(fieldType)) else {
            return orderMismatch(name, fieldType)
        }
        let isPrefix = relation == .beginsWith || relation == .memberBeginsWith
        if isPrefix, fieldType == .reference { return nil }
        return "The field \"\(name)\" holds \(whole.webName) and is compared with "
            + "\(found.webName)."
    }

    private func orderMismatch(_ name: Name, _ type: FieldType) -> String? {
        guard relation.indexKind == .sortable, type == .location || type == .reference else {
            return nil
        }
        return "The field \"\(name)\" holds \(type.webName), which has no order."
    }
}

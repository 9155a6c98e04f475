// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Schema {
    /// Returns the changes that turn this schema into another; none if the two are equal.
    ///
    /// The order is always the same: roles first, then record types by name. O(names of both).
    public func changes(to other: Schema) -> [SchemaChange] {
        var changes: [SchemaChange] = []
        for (old, new) in Self.pairs(roles, other.roles) {
            switch (old, new) {
            case (nil, let role?): changes.append(.roleAdded(role))
            case (let role?, nil): changes.append(.roleRemoved(role))
            default: break
            }
        }
        for (old, new) in Self.pairs(recordTypes, other.recordTypes) where old != new {
            switch (old, new) {
            case (let old?, let new?): changes += old.changes(to: new)
            case (nil, let new?): changes.append(.recordTypeAdded(new))
            case (let old?, nil): changes.append(.recordTypeRemoved(old.name))
            case (nil, nil): break
            }
        }
        return changes
    }

    /// Returns the elements of two sorted lists, side by side by name.
    fileprivate static func pairs<Item: NamedItem>(
        _ first: [Item],
        _ second: [Item]
    ) -> [(Item?, Item?)] {
        var pairs: [(Item?, Item?)] = []
        var left = first[...]
        var right = second[...]
        while !left.isEmpty || !right.isEmpty {
            let (old, new) = (left.first, right.first)
            // The smaller name is in one list only, because both lists are sorted.
            if let old, new.map({ old.name < $0.name }) ?? true {
                pairs.append((left.removeFirst(), nil))
            } else if let new, old.map({ new.name < $0.name }) ?? true {
                pairs.append((nil, right.removeFirst()))
            } else {
                pairs.append((left.removeFirst(), right.removeFirst()))
            }
        }
        return pairs
    }
}

extension Schema.RecordType {
    /// Returns the changes that turn this record type into another of the same name.
    fileprivate func changes(to other: Self) -> [SchemaChange] {
        var changes: [SchemaChange] = []
        for (old, new) in Schema.pairs(fields, other.fields) where old != new {
            switch (old, new) {
            case (let old?, let new?):
                if old.type != new.type {
                    changes.append(
                        .fieldTypeChanged(name, new.name, from: old.type, to: new.type)
                    )
                }
                if old.indexes != new.indexes {
                    changes.append(
                        .indexesChanged(name, new.name, from: old.indexes, to: new.indexes)
                    )
                }
            case (nil, let new?): changes.append(.fieldAdded(name, new))
            case (let old?, nil): changes.append(.fieldRemoved(name, old.name))
            case (nil, nil): break
            }
        }
        for (old, new) in Schema.pairs(grants, other.grants) where old != new {
            guard let role = (old ?? new)?.role else { continue }
            changes.append(
                .permissionsChanged(
                    name,
                    role,
                    from: old?.permissions ?? [],
                    to: new?.permissions ?? []
                )
            )
        }
        return changes
    }
}

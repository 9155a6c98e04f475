// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
package import TidemarkModel

/// The result of checking a valid query against a schema.
package struct QueryRules: Sendable {
    /// The fields that a full-text search reads; `nil` for all.
    package var searchedFields: [String]?
    /// True if the schema has the record type.
    ///
    /// Only an import creates records of an unknown type; they are found without further checks.
    package var isTypeKnown = true

    /// Returns the rules of a store that checks no schema: every query is valid.
    package static func unchecked(_ query: Query) throws(SyncError) -> QueryRules {
        if let refusal = query.refusal({ _ in nil }) { throw refusal }
        return QueryRules()
    }
}

extension QueryRules {
    /// Checks a query, and throws if it is invalid for the types of a schema.
    package init(_ query: Query, under schema: Schema) throws(SyncError) {
        let type = schema[Name(query.recordType)]
        if let refusal = query.refusal({ type?[$0]?.type.queriedType }) { throw refusal }
        isTypeKnown = type != nil
        searchedFields = type?.fields.filter { $0.indexes.contains(.searchable) }
            .map(\.name.string)
    }

    /// Returns the indexes that a schema lacks for a query in development; empty in production,
    /// where the query is rejected.
    package static func growth(
        of schema: Schema,
        for query: Query,
        in environment: Environment
    ) throws(SyncError) -> [SchemaChange] {
        // A type that only an import brought has no indexes and needs none (semantics.md,
        // "Queries").
        guard let type = schema[Name(query.recordType)] else { return [] }
        return try SchemaGrowth(in: environment).changes(
            of: schema,
            querying: type.name,
            using: query.schemaRequirements { type[$0]?.type.queriedType }
        )
    }
}

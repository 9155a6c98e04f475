// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
package import TidemarkModel

/// What a schema says about a query that it lets pass.
package struct QueryRules: Sendable {
    /// The fields that a search in all words looks at; `nil` for all.
    package var searchedFields: [String]?
    /// Whether the schema has the record type.
    ///
    /// One that it does not have takes an import; its records are found without further checks.
    package var isTypeKnown = true

    /// For a store that checks no schema: everything passes.
    package static func unchecked(_ query: Query) throws(SyncError) -> QueryRules {
        if let refusal = query.refusal({ _ in nil }) { throw refusal }
        return QueryRules()
    }
}

extension QueryRules {
    /// Refuses what makes no sense for the types that a schema has.
    package init(_ query: Query, under schema: Schema) throws(SyncError) {
        let type = schema[Name(query.recordType)]
        if let refusal = query.refusal({ type?[$0]?.type.queriedType }) { throw refusal }
        isTypeKnown = type != nil
        searchedFields = type?.fields.filter { $0.indexes.contains(.searchable) }
            .map(\.name.string)
    }

    /// What a schema lacks for a query: in development indexes, in production nothing, as the query is
    /// refused there.
    package static func growth(
        of schema: Schema,
        for query: Query,
        in environment: Environment
    ) throws(SyncError) -> [SchemaChange] {
        guard let type = schema[Name(query.recordType)] else { return [] }
        return try SchemaGrowth(in: environment).changes(
            of: schema,
            querying: type.name,
            using: query.schemaRequirements { type[$0]?.type.queriedType }
        )
    }
}

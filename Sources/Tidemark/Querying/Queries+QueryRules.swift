// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Queries {
    /// Checks a query against the schema as it is now, which in development gets the indexes that the
    /// query needs.
    func rules(for query: Query, as caller: Caller) async throws(SyncError) -> QueryRules {
        guard reader.options.checksSchema else { return try .unchecked(query) }
        do throws(SyncError) {
            let rules = try await checkedRules(for: query, as: caller)
            if caller.database.environment == .development {
                reader.reportDrift(of: query, as: caller)
            }
            return rules
        } catch {
            reader.reportDrift(of: query, as: caller)
            throw error
        }
    }

    private func checkedRules(
        for query: Query,
        as caller: Caller
    ) async throws(SyncError) -> QueryRules {
        let environment = caller.database.environment
        while true {
            let picture = try reader.picture(.visible)
            let type = Name(query.recordType)
            let schema = try reader.schema(of: caller.database, picture).excerpt(type).schema
            let rules = try QueryRules(query, under: schema)
            let growth = try QueryRules.growth(of: schema, for: query, in: environment)
            if growth.isEmpty || writer.ifAny == nil { return rules }
            // A commit of its own. The next round reads the schema with the new indexes, or with
            // those that another query has added.
            try await addIndexes(for: query, as: caller)
        }
    }

    private func addIndexes(for query: Query, as caller: Caller) async throws(SyncError) {
        let committer = try writer().committer
        try await committer.waitForRoom()
        while true {
            let picture = try reader.picture(.appended)
            let schema = try reader.schema(of: caller.database, picture)
            let old = try schema.excerpt(Name(query.recordType)).schema
            let growth = try QueryRules.growth(of: old, for: query, in: caller.database.environment)
            // Another query has added the indexes. The result must not depend on them before they
            // are durable.
            if growth.isEmpty {
                let last = schema.lastSequence
                return try await committer.waitUntilDurable(last)
            }
            let change = try SystemChange.schema(from: old, to: old.applying(growth))
            // The state has changed since the picture was taken, so the growth is computed again.
            guard let last = try writer().append(change, as: caller, picture) else {
                continue
            }
            return try await committer.waitUntilDurable(last)
        }
    }
}

extension SyncError {
    /// A query of a shared database as a whole.
    static let zoneNotNamed = SyncError(
        .invalidArguments,
        "A query of a shared database reads one zone; name the zone."
    )

    /// A query of a shared database as of a point.
    static let sharedPast = SyncError(
        .invalidArguments,
        "A shared database can be queried only as it is now. Query the owner's private database "
            + "for its past."
    )

    /// A cursor that no store made.
    static let damagedCursor = SyncError(
        .invalidArguments,
        "The query's cursor is damaged; repeat the query from its beginning."
    )

    /// A cursor of something else.
    static let foreignCursor = SyncError(
        .invalidArguments,
        "The cursor belongs to another query, place or point; repeat the query from its beginning."
    )

    /// A query of a database with very many zones.
    static func tooManyZones(_ count: Int) -> SyncError {
        SyncError(
            .limitExceeded,
            "The database has \(count) zones; a query reads at most \(QueryPlace.zoneLimit). Name "
                + "a zone."
        )
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Writer {
    /// Changes the schema of one environment by a plan over both; plans again if another change
    /// came first.
    func change(
        schemaOf container: ContainerID,
        in environment: Environment,
        _ plan: ((development: Schema, production: Schema)) throws(SyncError) -> SchemaPlan
    ) async throws(SyncError) -> SchemaPlan {
        func database(_ environment: Environment) -> DatabaseID {
            DatabaseID(container: container, environment: environment, scope: .public)
        }
        let caller = Caller(database: database(environment))
        try reader.options.limits.check(caller)
        try await committer.waitForRoom()
        while true {
            let picture = try reader.picture(.appended)
            let development = try reader.schema(of: database(.development), picture)
            let production = try reader.schema(of: database(.production), picture)
            let wanted = try plan((try development.whole(), try production.whole()))
            // If nothing changes, the answer still depends on both schemas, and waits until both
            // are durable.
            let lookedAt = max(development.lastSequence, production.lastSequence)
            let change = try SystemChange.schema(from: wanted.current, to: wanted.target)
            if wanted.error != nil || change.isEmpty {
                try await committer.waitUntilDurable(lookedAt)
                if let error = wanted.error { throw error }
                return wanted
            }
            guard let last = try append(change, as: caller, picture) else { continue }
            try await committer.waitUntilDurable(last)
            return wanted
        }
    }

    /// Appends a commit that only changes a system zone; `nil` if its basis has changed since the
    /// picture was taken.
    ///
    /// If no zone is named, the zone is one of the caller's database.
    func append(
        _ change: SystemChange,
        to database: DatabaseID? = nil,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> SequenceNumber? {
        let time = reader.now()
        let facts = picture.facts
        var plan = CommitPlan(over: facts, time: time)
        let author = Authorship(time: time, user: caller.user, device: caller.device)
        try plan.add(change, of: database ?? caller.database, by: author, over: facts)
        plan.seal(as: caller, nil, outcomes: [])
        return try committer.append(&plan)?.last
    }
}

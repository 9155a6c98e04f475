// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Limits {
    /// Returns the number of bytes that a database may use; `nil` if no quota is set.
    func quota(of scope: DatabaseScope) -> Int? {
        scope == .public ? bytesPerPublicDatabase : bytesPerPrivateDatabase
    }
}

extension Writer {
    /// Releases the reservations of a commit that was not made.
    func release(_ reservations: [UsageCounts.Reservation]) {
        usages.withLock { usages in
            for reservation in reservations { usages.release(reservation) }
        }
    }

    /// The effect of a plan on the byte counts of databases.
    struct UsageEffect {
        /// The growth by database, in the order of first use by the plan.
        var growths: [UsageCounts.Reservation] = []
        /// Databases that lose a zone.
        var endings: [DatabaseID] = []
        /// The blobs that records of a database name.
        var named: [DatabaseID: [BlobID]] = [:]

        mutating func add(_ growth: Int, to database: DatabaseID) {
            if let index = growths.firstIndex(where: { $0.database == database }) {
                growths[index].growth = growths[index].growth.clampedSum(growth)
            } else {
                growths.append(UsageCounts.Reservation(database, growth: growth))
            }
        }
    }

    func usageEffect(
        of plan: CommitPlan,
        over picture: ViewPicture,
        _ quotas: Quotas
    ) throws(SyncError) -> UsageEffect {
        var effect = UsageEffect()
        for (index, event) in plan.events.enumerated() {
            switch event.effect {
            case .record(let change):
                let identity = try identity(of: change.zone, in: plan, picture)
                // The store's own data counts for no one (semantics.md, "Usage, quotas and
                // throttling").
                if identity.isSystem || !quotas.has(identity.database) { continue }
                var growth = 0
                if change.state == .live {
                    let end = plan.draft.events[index].payloadEnd
                    let bytes = plan.draft.payloads[event.bodyOffset..<end]
                    let body = RecordBody(sound: bytes)
                    growth = body.countedByteCount
                    if body.fields.namesAssets {
                        let blobs = body.fields.assets.map(\.blob)
                        effect.named[identity.database, default: []] += blobs
                    }
                }
                // One read of the log per replaced record. Only stores with a quota pay for it.
                if change.previousState == .live {
                    let previous = change.previous
                    let old = try reader.views.records(at: [previous])[0]
                    growth = growth.clampedSum(-(try old.readBody().countedByteCount))
                }
                effect.add(growth, to: identity.database)
            case .zoneDeleted(let key, _):
                // The sizes of the records in the zone are unknown here. The database is counted
                // again when a commit next needs its size.
                effect.endings.append(try identity(of: key, in: plan, picture).database)
            case .zoneCreated, .tombstonesForgotten, .compactionBegun, .nothing:
                break
            }
        }
        return effect
    }

    /// Returns the zone of a key in a plan.
    private func identity(
        of zone: ZoneKey,
        in plan: CommitPlan,
        _ picture: ViewPicture
    ) throws(SyncError) -> ZoneIdentity {
        // The picture is older than the plan, so it lacks the zones that the plan creates.
        if let created = plan.createdZone(zone) { return created }
        return try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.zone(zone).identity
        }
    }

    /// Reserves the bytes that a commit adds, after counting the database if necessary.
    func reserve(
        _ wanted: UsageCounts.Reservation,
        _ committer: Committer
    ) async throws(SyncError) -> UsageCounts.Reservation {
        let database = wanted.database
        let (quota, containerQuota) = quotas.state.withLock {
            $0.quotas(of: database)
        }
        guard quota != nil || containerQuota != nil else { return wanted }
        // Each outcome that is not final is resolved outside the lock of `usages`. Then the
        // reservation is tried again, since other commits may have changed the sums.
        while true {
            let outcome = usages.withLock {
                $0.reserve(wanted, quota: quota ?? .max, containerQuota: containerQuota)
            }
            switch outcome {
            case .reserved(let reservation):
                return reservation
            case .refused(let byteCount):
                throw .quotaExceeded(
                    "The database \(database)",
                    byteCount.clampedSum(wanted.growth),
                    quota: quota ?? .max
                )
            case .refusedByContainer(let byteCount):
                throw .quotaExceeded(
                    "The container \(database.container.identifier)",
                    byteCount.clampedSum(wanted.growth),
                    quota: containerQuota ?? .max
                )
            case .notCounted:
                try await count(database, committer)
            case .notListed:
                let databases = try reader.databases(try reader.picture(.visible))
                    .filter { $0.container == database.container }
                usages.withLock { $0.list(databases, of: database.container) }
            case .othersNotCounted(let others):
                for other in others { try await count(other, committer) }
            }
        }
    }

    /// Counts a database, or waits until another commit has counted it: a count reads the whole
    /// database.
    private func count(_ database: DatabaseID, _ committer: Committer) async throws(SyncError) {
        guard let id = usages.withLock({ $0.begin(database) }) else {
            return await withCheckedContinuation { continuation in
                let waits = usages.withLock { $0.wait(for: database, continuation) }
                if !waits { continuation.resume() }
            }
        }
        do throws(SyncError) {
            // Commits that were appended before the count began are not reported to it, so it must
            // read them.
            let appended = reader.views.overlay.withLock { $0.appended }
            try await committer.waitUntilDurable(appended)
            let waiting = try await reader.blockingWork.run { () throws(SyncError) in
                let picture = try self.reader.picture(.visible)
                let byteCount = try self.reader.usage(of: database, picture).total.byteCount
                return self.usages.withLock {
                    $0.end(id, of: database, byteCount: byteCount, bound: picture.bound)
                }
            }
            for continuation in waiting { continuation.resume() }
        } catch {
            // Those who waited count again.
            let waiting = usages.withLock { $0.abandon(id, of: database) }
            for continuation in waiting { continuation.resume() }
            throw error
        }
    }
}

extension SyncError {
    /// An upload that leaves too many bytes without a record.
    static func uploadsExceedQuota(of database: DatabaseID) -> SyncError {
        SyncError(
            .quotaExceeded,
            "The database \(database), or its container, has as many bytes of uploads that no record "
                + "names as its quota allows.",
            remedy: "Save the records that name the uploads, or wait until a day has passed."
        )
    }

    /// A commit that would make a database or a container too large.
    fileprivate static func quotaExceeded(
        _ place: String,
        _ byteCount: Int,
        quota: Int
    ) -> SyncError {
        SyncError(
            .quotaExceeded,
            "\(place) would have \(byteCount) bytes of records and assets; its quota is \(quota)."
        )
    }
}

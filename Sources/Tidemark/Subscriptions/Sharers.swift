// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The users that see the records of a zone or an audience through shares, as of one log position
/// after another.
///
/// So the notifications of a commit do not depend on when the commit is read, nor on who has joined
/// or left a share since.
struct Sharers {
    private struct Part {
        var participantID: String
        /// The shared database of the user whose participation it is.
        var database: DatabaseID
    }

    /// The participants that see something, by the zone or the audience that they see.
    private var parts: [ZoneIdentity: [Part]] = [:]
    /// The shared databases of those whose participations are among them.
    private var databases: Set<DatabaseID> = []
    /// The number of changes to the subscriptions at the last query.
    private var changeCount = -1
    /// The numbers of subscriptions by zone or audience, as far as they were requested.
    private var numbers: [ZoneKey: [Int]] = [:]

    /// Returns the subscriptions of the users that see the zone or the audience of a key.
    ///
    /// The first call costs a lookup for each user that subscribed to its shared database.
    mutating func subscriptions(
        to key: ZoneKey,
        _ zone: ZoneIdentity,
        among set: SubscriptionSet,
        asOf position: SequenceNumber,
        _ store: Notifications,
        _ picture: ViewPicture
    ) throws(SyncError) -> [Int] {
        if changeCount == set.changeCount {
            if let known = numbers[key] { return known }
        } else {
            // Each user is looked up once. Later changes of its participations arrive as events, by
            // `update`.
            for database in set.shared.keys where databases.insert(database).inserted {
                let shared = try store.reader.sharedZones(of: database.owner, in: database, picture)
                for known in shared.participations {
                    if let part = try store.reader.participation(known, asOf: position) {
                        take(part, in: database)
                    }
                }
            }
            changeCount = set.changeCount
            numbers = [:]
        }
        var found: [Int] = []
        var seen: Set<DatabaseID> = []
        // A user may be a participant twice, by two invitations, and gets one notification.
        for part in parts[zone] ?? [] where seen.insert(part.database).inserted {
            found += set.shared[part.database] ?? []
        }
        numbers[key] = found
        return found
    }

    /// Records that a user's participation in a share has begun, ended or changed.
    mutating func update(_ part: Participation, in database: DatabaseID) {
        if databases.contains(database) { take(part, in: database) }
    }

    private mutating func take(_ part: Participation, in database: DatabaseID) {
        let zone = part.zoneIdentity(in: database)
        let seen = part.isZoneWide ? zone : zone.audience(ofShare: part.token)
        parts[seen]?.removeAll {
            $0.participantID == part.participantID && $0.database == database
        }
        if part.showsSomething {
            parts[seen, default: []].append(
                Part(participantID: part.participantID, database: database)
            )
        }
        numbers = [:]
    }
}

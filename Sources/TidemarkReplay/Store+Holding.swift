// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
import TidemarkEvents
public import TidemarkLog
public import TidemarkModel

/// From when on some record of a database fulfils a predicate.
public struct Holding: Hashable, Codable, Sendable {
    /// The position of the event with which the first record matched; `nil` if none ever did.
    ///
    /// A commit counts as a whole: a match that exists only inside a commit does not count.
    public internal(set) var began: SequenceNumber?
    /// The position of the event after which, for the first time, no record did any more; `nil` if there
    /// always was one.
    public internal(set) var ended: SequenceNumber?
    /// The number of times that it began or ended.
    ///
    /// More than one means that the predicate is not monotone.
    public internal(set) var turnCount = 0
    /// True if some record already matched the predicate at the first point.
    public internal(set) var heldAtFirst = false
}

extension Store {
    /// Finds the event with which some record first matched a predicate, between two points.
    ///
    /// The log is read once, up to the second point, and each version is tested once. Unlike any number
    /// of probes, this also determines if the predicate is monotone. Memory is proportional to the
    /// number of records that match at one time.
    ///
    /// - Parameters:
    ///   - predicate: The predicate that a record must match; `now()` in it is the time of the call.
    ///   - type: The type of the records that count; `nil` for all.
    ///   - database: The database.
    ///   - zone: The zone of the records that count; `nil` for all but the internal zones of the store.
    ///   - first: The event after which the search begins.
    ///   - last: The event at which the search ends; `nil` for the last one.
    ///
    /// - Returns: The positions at which the predicate began and ceased to hold.
    ///
    /// - Throws: `zoneNotFound`; `unknownItem` for a record type that neither the schema nor a read
    ///   record has; `invalidArguments` for such a field, for an invalid predicate, and for points as
    ///   for ``visitDifferences(after:through:of:in:record:_:)``.
    public func holding(
        of predicate: Query.Predicate,
        type: String? = nil,
        in database: DatabaseID = .standard,
        zone: ZoneID? = nil,
        after first: SequenceNumber = .zero,
        through last: SequenceNumber? = nil
    ) async throws(SyncError) -> Holding {
        let past = try pastPicture(showing: [first, last].compactMap(\.self))
        let keys = Set(try past.epochs(of: database, in: zone).map(\.key))
        let matcher = try Query.Matcher(predicate, now: past.now)
        let type = type.map { Name($0) }
        // A store that does not check schemas answers queries with any names.
        let unknown =
            options.checksSchema
            ? try UnknownNames(
                of: predicate,
                recordType: type,
                in: try schema(of: database.container, in: database.environment)
            ) : nil
        return try await reading { () throws(SyncError) in
            var fold = HoldingFold(
                matcher: matcher,
                type: type,
                unknown: unknown,
                places: PastPlaces(hash: past.hash),
                first: first
            )
            // From the first event, since the records that match at `first` follow from all events
            // before it.
            try past.log.scan(
                from: 1,
                through: last ?? past.last,
                zones: keys
            ) { event throws(EventFormatError) in
                try fold.add(event)
                return true
            }
            // There may be no event after `first`, and no event follows the last commit to end it.
            fold.begin()
            fold.endCommit()
            let hasMatched = fold.holding.heldAtFirst || fold.holding.began != nil
            try fold.unknown?.check(hasMatched: hasMatched)
            return fold.holding
        }
    }
}

/// Tracks the records that match a predicate during a fold of the log.
struct HoldingFold {
    let matcher: Query.Matcher
    let type: Name?
    /// The names that would make a result meaningless.
    private(set) var unknown: UnknownNames?
    let places: PastPlaces
    let first: SequenceNumber
    private(set) var holding = Holding()
    private var fulfilling: Set<PastPlace> = []
    private var hasBegun = false
    /// The commit that is being read.
    private var commit = SequenceNumber.zero
    /// True if some record matched the predicate before that, or at the first point.
    private var heldBefore = false
    /// The event of that commit with which it began or ended, if it is now not as before.
    private var turn: SequenceNumber?

    init(
        matcher: Query.Matcher,
        type: Name?,
        unknown: UnknownNames?,
        places: PastPlaces,
        first: SequenceNumber
    ) {
        self.matcher = matcher
        self.type = type
        self.unknown = unknown
        self.places = places
        self.first = first
    }

    /// Reads the state at the first point, once all events up to it have been added.
    mutating func begin() {
        if hasBegun { return }
        hasBegun = true
        holding.heldAtFirst = !fulfilling.isEmpty
        heldBefore = holding.heldAtFirst
        turn = nil
    }

    /// Counts the changes of a commit once all of it has been added, because no client ever saw the
    /// store inside the commit.
    mutating func endCommit() {
        // No one saw the states inside a commit, so only a turn that lasts to its end counts.
        if hasBegun, let turn { count(turn) }
        heldBefore = !fulfilling.isEmpty
        turn = nil
    }

    mutating func add(_ event: LogEvent) throws(EventFormatError) {
        if event.commit.first != commit {
            endCommit()
            commit = event.commit.first
        }
        if event.sequence > first { begin() }
        // If no record matches, there is none to remove, and the place of the event is not
        // computed.
        let held = !fulfilling.isEmpty
        switch event.kind {
        case .recordSaved, .recordTouched:
            let body = try PastVersion(event).body()
            let isMeant = type.map { body.hasType($0) } ?? true
            if isMeant, !(unknown?.isEmpty ?? true) { unknown?.remove(namesOf: body) }
            if isMeant, matcher.matches(body) {
                fulfilling.insert(try places.step(event).place)
            } else if held {
                fulfilling.remove(try places.step(event).place)
            }
        case .recordDeleted:
            if held { fulfilling.remove(try places.step(event).place) }
        case .zoneDeleted:
            if held { fulfilling = fulfilling.filter { $0.epoch != event.zone } }
        default:
            return
        }
        // The state turned at this event. A second turn inside the commit cancels the first.
        if held == fulfilling.isEmpty { turn = held == heldBefore ? event.sequence : nil }
    }

    private mutating func count(_ sequence: SequenceNumber) {
        holding.turnCount += 1
        if fulfilling.isEmpty {
            holding.ended = holding.ended ?? sequence
        } else {
            holding.began = holding.began ?? sequence
        }
    }
}

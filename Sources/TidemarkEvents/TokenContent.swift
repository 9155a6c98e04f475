// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The content of a change token; `Docs/formats/events.md` has the bytes.
package struct TokenContent: Hashable, Sendable {
    /// The scope of the changes that a token tracks.
    ///
    /// Raw values are in tokens: never renumber them.
    package enum Level: UInt8, Hashable, Sendable {
        /// The records of a zone; `place` is the zone's key, which is its epoch.
        case zone = 1
        /// The zones of a database; `place` is the database's key.
        case database = 2
        /// The records of another user's zone that shares show; `place` is the zone's key.
        case sharedZone = 3
    }

    /// An unfinished walk of an audience, after the client joined or left its share.
    package struct Walk: Hashable, Sendable {
        /// The share's audience.
        package var audience: ZoneKey
        /// The last position of the audience that has been reported.
        package var position: SequenceNumber
        /// True if the client is to remove the audience's records.
        package var isLeaving: Bool

        package init(audience: ZoneKey, position: SequenceNumber = 0, isLeaving: Bool) {
            self.audience = audience
            self.position = position
            self.isLeaving = isLeaving
        }
    }

    /// The scope of the changes that the token tracks.
    package var level: Level
    /// The zone's or the database's key.
    package var place: UInt64
    /// The incarnation under which the token was issued.
    package var incarnation: Incarnation
    /// The last position that has been reported.
    package var sequence: SequenceNumber
    /// The position up to which deletions are not reported.
    ///
    /// A client that began without a token, while this was the store's last position, never had the
    /// deleted records.
    ///
    /// Zero if there is no such position.
    package var quiet: SequenceNumber
    /// In a public database, the set of readable record types, by ``PublicAccess/readability(_:)``;
    /// zero if all types are readable.
    package var readability: UInt64 = 0
    /// In a shared zone, the position up to which the client's participations are known.
    package var known = SequenceNumber.zero
    /// In a shared zone, the audiences that are reported before the changes after `sequence`.
    package var walks: [Walk] = []

    package init(
        level: Level,
        place: UInt64,
        incarnation: Incarnation,
        sequence: SequenceNumber,
        quiet: SequenceNumber = .zero,
        readability: UInt64 = 0
    ) {
        self.readability = readability
        self.level = level
        self.place = place
        self.incarnation = incarnation
        self.sequence = sequence
        self.quiet = quiet
    }
}

/// The defect of a change token.
///
/// After most of them the client starts again without a token, and loses nothing: it gets the error
/// *change token expired*. For `damaged`, `otherLevel` and `otherPlace` the request is invalid.
package enum TokenDefect: Error, Hashable, Sendable {
    /// The bytes are not a token that this store made.
    case damaged
    /// The token is of another store.
    case otherStore
    /// The token is of another level: those are a zone, a shared zone and a database.
    case otherLevel
    /// The token is of another zone or database, or of an earlier zone of the same name.
    case otherPlace
    /// The token is of an incarnation that this store never had.
    case unknownIncarnation
    /// The token is beyond the cut of its incarnation: it covers changes that this store never had.
    case beyondCut
    /// The token is beyond the store's last event.
    case future
    /// The client's read access has changed, so that other records must be added or removed.
    case otherReadability
    /// The token is below the horizon: deletions after it have been dropped.
    case belowHorizon
}

extension TokenContent {
    /// The format's version, the first byte of every token.
    private static let version: UInt8 = 1
    /// The length of a token of this version, except for shared zones and for partly readable
    /// databases.
    private static let byteCount = 50
    private static let checkByteCount = 8
    private static let walkByteCount = 17

    /// Returns the token for clients.
    package func token(of store: StoreID, hash: StoreHash) -> ChangeToken {
        let rest =
            level == .sharedZone
            ? MemoryLayout<UInt64>.size + walks.count * Self.walkByteCount
            : readability == 0 ? 0 : MemoryLayout<UInt64>.size
        let count = Self.byteCount + rest
        // A token of a zone or database has no list, so one optional word needs no flag: the length
        // tells.
        let optional = level == .sharedZone ? known.rawValue : readability
        // Every page ends with a token. An array of a given length would be made by code of the
        // standard library that is not specialized, and appending word by word takes longer still.
        // The list names the members, because the closure would otherwise copy the whole value.
        return withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) {
            [level, place, incarnation, sequence, quiet, walks] token in
            func put(_ word: UInt64, at offset: Int) {
                token.storeBytes(of: word.littleEndian, toByteOffset: offset, as: UInt64.self)
            }
            token[0] = Self.version
            token[1] = level.rawValue
            put(store.low, at: 2)
            put(place, at: 10)
            put(incarnation.rawValue, at: 18)
            put(sequence.rawValue, at: 26)
            put(quiet.rawValue, at: 34)
            if rest > 0 { put(optional, at: 42) }
            if level == .sharedZone {
                for (index, walk) in walks.enumerated() {
                    let offset = Self.byteCount + index * Self.walkByteCount
                    put(walk.audience.rawValue, at: offset)
                    put(walk.position.rawValue, at: offset + 8)
                    token[offset + 16] = walk.isLeaving ? 1 : 0
                }
            }
            let written = UnsafeRawBufferPointer(token)
            let end = count - Self.checkByteCount
            put(hash.tokenCheck(written.bytes.extracting(0..<end)), at: end)
            return ChangeToken(bytes: Array(written))
        }
    }

    /// Reads a token that any store made; throws the defect of its bytes.
    package init(
        _ token: ChangeToken,
        store: StoreID,
        hash: StoreHash
    ) throws(TokenDefect) {
        let span = token.bytes.span.bytes
        guard span.byteCount >= Self.byteCount, span.byte(at: 0) == Self.version,
            let level = Level(rawValue: span.byte(at: 1))
        else { throw .damaged }
        // Before the check, whose seed is the store's: otherwise a token of another store would
        // count as damaged.
        guard span.integer(at: 2, as: UInt64.self) == store.low else { throw .otherStore }
        // The check is last, so one rule finds it in tokens of every length.
        let end = span.byteCount - Self.checkByteCount
        let check = hash.tokenCheck(span.extracting(0..<end))
        guard span.integer(at: end, as: UInt64.self) == check else { throw .damaged }
        self.init(
            level: level,
            place: span.integer(at: 10),
            incarnation: Incarnation(rawValue: span.integer(at: 18)),
            sequence: span.sequence(at: 26),
            quiet: span.sequence(at: 34)
        )
        // The position up to which participations are known and the walks exist in tokens of shared
        // zones only.
        guard level == .sharedZone else {
            switch span.byteCount {
            case Self.byteCount: break
            case Self.byteCount + MemoryLayout<UInt64>.size:
                readability = span.integer(at: Self.byteCount - Self.checkByteCount)
            default: throw .damaged
            }
            return
        }
        // At this level `known` is always written, so the check begins at offset 50 or later.
        guard end >= Self.byteCount, (end - Self.byteCount) % Self.walkByteCount == 0 else {
            throw .damaged
        }
        // Optional fields begin where the shortest token has its check.
        known = span.sequence(at: Self.byteCount - Self.checkByteCount)
        for offset in stride(from: Self.byteCount, to: end, by: Self.walkByteCount) {
            walks.append(
                Walk(
                    audience: ZoneKey(rawValue: span.integer(at: offset)),
                    position: span.sequence(at: offset + 8),
                    isLeaving: span.byte(at: offset + 16) != 0
                )
            )
        }
    }

    /// Checks that the store can return the exact changes since the token; throws the defect if
    /// not.
    ///
    /// `place` is the key of the requested zone or database, `visible` the last position that any
    /// client may have seen, `horizon` the position up to which deletions may have been dropped,
    /// and `readability` the client's read access.
    package func check(
        level: Level,
        place: UInt64,
        line: IncarnationLine,
        visible: SequenceNumber,
        horizon: SequenceNumber,
        readability: UInt64 = 0
    ) throws(TokenDefect) {
        // First, because the level decides what `place` is the key of.
        guard self.level == level else { throw .otherLevel }
        // Before the positions: an unknown incarnation has no cut with which to compare them.
        guard line.entries.contains(where: { $0.incarnation == incarnation }) else {
            throw .unknownIncarnation
        }
        let last = max(max(sequence, quiet), known)
        guard line.contains(last, of: incarnation) else { throw .beyondCut }
        // Within the cut but after every durable event: the store's files are older than the token.
        guard last <= visible else { throw .future }
        // Not earlier: beyond the cut, another zone may have the same key.
        guard self.place == place else { throw .otherPlace }
        // The client lacks records that it could not read, or has some that it can no longer read.
        // A delta would report neither.
        guard self.readability == readability else { throw .otherReadability }
        // Up to `quiet`, the client never had the deleted records. It misses nothing if those
        // deletions were dropped.
        guard max(sequence, quiet) >= horizon else { throw .belowHorizon }
    }
}

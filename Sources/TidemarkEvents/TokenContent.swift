// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// What a change token says to the store that made it: `Docs/formats/events.md` has the bytes.
package struct TokenContent: Hashable, Sendable {
    /// What the token counts the changes of.
    ///
    /// Raw values are in tokens: never renumber them.
    package enum Level: UInt8, Hashable, Sendable {
        /// The records of a zone; `place` is the zone's key, which is its epoch.
        case zone = 1
        /// The zones of a database; `place` is the database's key.
        case database = 2
        /// The records that shares show of somebody else's zone; `place` is the zone's key.
        case sharedZone = 3
    }

    /// A list that is still being walked: of a share that the client came to, or left.
    package struct Walk: Hashable, Sendable {
        /// The share's audience.
        package var audience: ZoneKey
        /// Everything up to and including this position of it has been told.
        package var position: SequenceNumber
        /// Whether what it holds is to go.
        package var isLeaving: Bool

        package init(audience: ZoneKey, position: SequenceNumber = 0, isLeaving: Bool) {
            self.audience = audience
            self.position = position
            self.isLeaving = isLeaving
        }
    }

    /// What the token counts the changes of.
    package var level: Level
    /// The zone's or the database's key.
    package var place: UInt64
    /// The incarnation under which the token was handed out.
    package var incarnation: Incarnation
    /// Everything up to and including this position has been told.
    package var sequence: SequenceNumber
    /// Deletions up to and including this position are not told: a client that began without a
    /// token, while the store stood here, never knew what they deleted.
    ///
    /// Zero for none.
    package var quiet: SequenceNumber
    /// In a public database: which types the client reads only in part, or not, as
    /// ``PublicAccess/readability(_:)`` says it; zero where it reads all.
    package var readability: UInt64 = 0
    /// In a shared zone: which shares the client takes part in is known up to this position.
    package var known = SequenceNumber.zero
    /// In a shared zone: the lists that come before what changed after `sequence`.
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

/// What is wrong with a change token.
///
/// Each answer to a client is *change token expired*: it starts again without a token, and loses
/// nothing.
package enum TokenDefect: Error, Hashable, Sendable {
    /// Not the bytes of a token that this store made.
    case damaged
    /// Made by another store.
    case otherStore
    /// Made for the other level: a database's token for a zone, or the reverse.
    case otherLevel
    /// Made for another zone or database, or for an earlier zone of the same name.
    case otherPlace
    /// Made under an incarnation that this store never was.
    case unknownIncarnation
    /// Beyond the cut of its incarnation: it tells of changes that this store never had.
    case beyondCut
    /// Beyond the store's last event.
    case future
    /// What the client may read has changed: other records are to come, or to go.
    case otherReadability
    /// Below the horizon: deletions after it have been forgotten.
    case belowHorizon
}

extension TokenContent {
    /// The format's version, the first byte of every token.
    private static let version: UInt8 = 1
    /// The length of a token of this version, but of shared zones, and where not all can be read.
    private static let byteCount = 50
    private static let checkByteCount = 8
    private static let walkByteCount = 17

    /// The token for clients.
    package func token(of store: StoreID, hash: StoreHash) -> ChangeToken {
        var bytes: [UInt8] = [Self.version, level.rawValue]
        bytes.reserveCapacity(Self.byteCount)
        bytes.append(integer: store.low)
        bytes.append(integer: place)
        bytes.append(integer: incarnation.rawValue)
        bytes.append(integer: sequence.rawValue)
        bytes.append(integer: quiet.rawValue)
        if level != .sharedZone {
            if readability != 0 { bytes.append(integer: readability) }
        } else {
            bytes.append(integer: known.rawValue)
            for walk in walks {
                bytes.append(integer: walk.audience.rawValue)
                bytes.append(integer: walk.position.rawValue)
                bytes.append(walk.isLeaving ? 1 : 0)
            }
        }
        bytes.append(integer: hash.tokenCheck(bytes.span.bytes))
        return ChangeToken(bytes: bytes)
    }

    /// Reads a token that some store made; says what is wrong with its bytes.
    package init(
        _ token: ChangeToken,
        store: StoreID,
        hash: StoreHash
    ) throws(TokenDefect) {
        let span = token.bytes.span.bytes
        guard span.byteCount >= Self.byteCount, span.byte(at: 0) == Self.version,
            let level = Level(rawValue: span.byte(at: 1))
        else { throw .damaged }
        guard span.integer(at: 2, as: UInt64.self) == store.low else { throw .otherStore }
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
        guard level == .sharedZone else {
            switch span.byteCount {
            case Self.byteCount: break
            case Self.byteCount + MemoryLayout<UInt64>.size:
                readability = span.integer(at: Self.byteCount - Self.checkByteCount)
            default: throw .damaged
            }
            return
        }
        guard end >= Self.byteCount, (end - Self.byteCount) % Self.walkByteCount == 0 else {
            throw .damaged
        }
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

    /// Whether the store can answer it exactly; throws the reason why not.
    ///
    /// `place` is the key of the zone or database that is asked for, `visible` the last position
    /// that anybody may have seen, `horizon` the position up to which deletions may have been
    /// forgotten, and `readability` what the client may read.
    package func check(
        level: Level,
        place: UInt64,
        line: IncarnationLine,
        visible: SequenceNumber,
        horizon: SequenceNumber,
        readability: UInt64 = 0
    ) throws(TokenDefect) {
        guard self.level == level else { throw .otherLevel }
        guard line.entries.contains(where: { $0.incarnation == incarnation }) else {
            throw .unknownIncarnation
        }
        guard line.contains(sequence, of: incarnation), line.contains(quiet, of: incarnation),
            line.contains(known, of: incarnation)
        else {
            throw .beyondCut
        }
        guard sequence <= visible, quiet <= visible, known <= visible else { throw .future }
        // Not before: beyond the cut another zone may have the same key.
        guard self.place == place else { throw .otherPlace }
        guard self.readability == readability else { throw .otherReadability }
        guard max(sequence, quiet) >= horizon else { throw .belowHorizon }
    }
}

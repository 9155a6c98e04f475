// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Reads the tokens that devices were given.
struct TokenReading {
    let store: StoreID
    let hash: StoreHash

    /// Returns the content of a token; `nil` for no token, and for one that this store did not
    /// make.
    func content(of token: ChangeToken?) -> TokenContent? {
        token.flatMap { try? TokenContent($0, store: store, hash: hash) }
    }
}

/// The place of a version in the delta of its zone for a device, by the rules that make pages.
enum VersionPlace {
    /// In a zone of which the device sees all: the zone's key, and the version's position.
    case whole(zone: ZoneKey, SequenceNumber)
    /// In an audience.
    case audience(AudienceRecord)

    /// Its position in the list that pages are made of.
    var sequence: SequenceNumber {
        switch self {
        case .whole(_, let sequence): sequence
        case .audience(let record): record.sequence
        }
    }

    /// Returns true if it lies in the page between two tokens; without a first token, the page
    /// starts at the beginning.
    func isTold(from since: TokenContent?, to granted: TokenContent) -> Bool {
        let start = since?.sequence ?? .zero
        switch self {
        case .whole(let zone, let sequence):
            // A default zone that was empty has no key in its tokens yet.
            guard granted.place == zone.rawValue else { return false }
            return start < sequence && sequence <= granted.sequence
        case .audience(let record):
            guard record.isMember(at: granted.known) else { return false }
            let end = granted.walk(of: record.audience)
            // Outside of a walk, an audience is reported like a zone.
            if end == nil, start < record.sequence, record.sequence <= granted.sequence {
                return true
            }
            // What the audience held before the device joined it comes by itself, up to its token.
            guard let since, let begin = walkStart(of: record, since, granted) else { return false }
            return begin < record.sequence && record.sequence <= end ?? since.sequence
        }
    }

    private func walkStart(
        of record: AudienceRecord,
        _ since: TokenContent,
        _ granted: TokenContent
    ) -> SequenceNumber? {
        if let walk = since.walk(of: record.audience) { return walk }
        // A client that was no member at its token gets the audience from the beginning.
        return record.isMember(at: since.known) ? nil : .zero
    }

    /// Returns true if the page between two tokens reports its removal because the device no longer
    /// sees the audience.
    func isTakenAway(from since: TokenContent?, to granted: TokenContent) -> Bool {
        guard case .audience(let record) = self, let since else { return false }
        return record.isMember(at: since.known) && !record.isMember(at: granted.known)
    }

    /// Returns true if a device with a token has received it, or a later version of the same
    /// record.
    func isCovered(by token: TokenContent) -> Bool {
        switch self {
        case .whole(let zone, let sequence):
            return token.place == zone.rawValue && sequence <= token.sequence
        case .audience(let record):
            return record.isMember(at: token.known)
                && record.sequence <= token.walk(of: record.audience) ?? token.sequence
        }
    }
}

extension TokenContent {
    /// Returns the position reached in the walk of an audience that the device has joined; `nil`
    /// if the audience is not being walked.
    fileprivate func walk(of audience: ZoneKey) -> SequenceNumber? {
        walks.first { $0.audience == audience && !$0.isLeaving }?.position
    }
}

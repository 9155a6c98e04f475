// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The hash functions of one store, seeded by its id, so that names which collide in one store do
/// not collide in another.
///
/// A hash finds a candidate, and every lookup compares the candidate with the log. Each use has its
/// own seed. The values are on disk: see `Docs/formats/events.md`.
package struct StoreHash: Hashable, Sendable {
    /// Derived from the store's id.
    package let seed: UInt64
    /// The used bits of a record's slot: all, except in tests of hash collisions.
    private let slotMask: UInt64

    /// The hashes of one store.
    package init(store: StoreID, slotMask: UInt64 = .max) {
        self.slotMask = slotMask
        var bytes: [UInt8] = []
        // The low word first, as on disk: the seed is defined over the bytes of the id there.
        bytes.append(integer: store.low)
        bytes.append(integer: store.high)
        seed = xxh3(bytes.span.bytes, seed: 0)
    }

    /// Added to the seed, one per use.
    ///
    /// Frozen.
    private enum Use: UInt64 {
        case recordName = 1
        case database = 2
        case zone = 3
        case request = 4
        case token = 5
        case content = 6
        case target = 7
    }

    /// Returns the first slot in the search for a record's name in its zone.
    @inline(__always)
    package func slot(ofName name: RawSpan) -> Slot {
        // The sum wraps: the seed can be any 64-bit value.
        Slot(rawValue: xxh3(name, seed: seed &+ Use.recordName.rawValue) & slotMask)
    }

    /// Returns the first slot in the search for a record's name in its zone.
    @inline(__always)
    package func slot(ofName name: Name) -> Slot {
        name.withBytes { slot(ofName: $0.span.bytes) }
    }

    /// Returns the hash of a target's name, as stored in events of records bound to the target.
    package func target(_ name: RawSpan) -> UInt64 {
        xxh3(name, seed: seed &+ Use.target.rawValue)
    }

    /// Returns the hash of a target's name.
    package func target(_ name: Name) -> UInt64 {
        name.withBytes { target($0.span.bytes) }
    }

    /// Returns the key that lists a database's zones.
    ///
    /// Two databases may share a key by chance, so that callers must compare identities.
    package func key(of database: DatabaseID) -> UInt64 {
        xxh3(database.identityBytes.span.bytes, seed: seed &+ Use.database.rawValue)
    }

    /// Returns the key of a database's container and environment, which is that of their public database.
    package func key(ofContainerOf database: DatabaseID) -> UInt64 {
        key(
            of: DatabaseID(
                container: database.container,
                environment: database.environment,
                scope: .public
            )
        )
    }

    /// Returns the first slot in the search for a zone's name in its database.
    package func slot(ofZone name: String) -> Slot {
        Slot(rawValue: xxh3(Array(name.utf8).span.bytes, seed: seed &+ Use.zone.rawValue))
    }

    /// Returns the key of a request: 128 bits over database, user and request id, not verified
    /// further.
    package func key(ofRequest id: String, user: String, database: DatabaseID) -> RequestKey {
        var bytes = database.identityBytes
        // With their lengths, so that no other user and id give the same bytes.
        bytes.append(string: user)
        bytes.append(string: id)
        let hash = xxh3Wide(bytes.span.bytes, seed: seed &+ Use.request.rawValue)
        return RequestKey(low: hash.low, high: hash.high)
    }

    /// Returns the check of a change token, which detects damaged and forged tokens.
    package func tokenCheck(_ bytes: RawSpan) -> UInt64 {
        xxh3(bytes, seed: seed &+ Use.token.rawValue)
    }

    /// Returns the hash of a request's content, which detects a request id reused with other
    /// content.
    package func content(_ bytes: RawSpan) -> UInt64 {
        xxh3(bytes, seed: seed &+ Use.content.rawValue)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The hashes by which one store finds things: seeded by its id, so that names which collide in
/// one store do not collide in another.
///
/// A hash finds a candidate; the log holds the witness, and every look-up compares it. Uses are
/// kept apart by seeds of their own. The values are on disk: see `Docs/formats/events.md`.
package struct StoreHash: Hashable, Sendable {
    /// Derived from the store's id.
    package let seed: UInt64
    /// Which bits of a record's slot are used: all, but in tests of what happens when names meet.
    private let slotMask: UInt64

    /// The hashes of one store.
    package init(store: StoreID, slotMask: UInt64 = .max) {
        self.slotMask = slotMask
        var bytes: [UInt8] = []
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

    /// Where the search for a record's name begins in its zone.
    @inline(__always)
    package func slot(ofName name: RawSpan) -> Slot {
        Slot(rawValue: xxh3(name, seed: seed &+ Use.recordName.rawValue) & slotMask)
    }

    /// Where the search for a record's name begins in its zone.
    @inline(__always)
    package func slot(ofName name: Name) -> Slot {
        name.withBytes { slot(ofName: $0.span.bytes) }
    }

    /// What stands for the name of a record that others are bound to, in events of those others.
    package func target(_ name: RawSpan) -> UInt64 {
        xxh3(name, seed: seed &+ Use.target.rawValue)
    }

    /// What stands for the name of a record that others are bound to.
    package func target(_ name: Name) -> UInt64 {
        name.withBytes { target($0.span.bytes) }
    }

    /// The key that a database's zones are listed under.
    ///
    /// Two databases may share one by chance, so whoever lists compares identities.
    package func key(of database: DatabaseID) -> UInt64 {
        xxh3(database.identityBytes.span.bytes, seed: seed &+ Use.database.rawValue)
    }

    /// Where the search for a zone's name begins in its database.
    package func slot(ofZone name: String) -> Slot {
        Slot(rawValue: xxh3(Array(name.utf8).span.bytes, seed: seed &+ Use.zone.rawValue))
    }

    /// The key of a request: 128 bits over database, user and request id, not verified further.
    package func key(ofRequest id: String, user: String, database: DatabaseID) -> RequestKey {
        var bytes = database.identityBytes
        bytes.append(string: user)
        bytes.append(string: id)
        let hash = xxh3Wide(bytes.span.bytes, seed: seed &+ Use.request.rawValue)
        return RequestKey(low: hash.low, high: hash.high)
    }

    /// What tells a change token that was damaged or invented from one that this store made.
    package func tokenCheck(_ bytes: RawSpan) -> UInt64 {
        xxh3(bytes, seed: seed &+ Use.token.rawValue)
    }

    /// What tells whether a request id came back with other content.
    package func content(_ bytes: RawSpan) -> UInt64 {
        xxh3(bytes, seed: seed &+ Use.content.rawValue)
    }
}

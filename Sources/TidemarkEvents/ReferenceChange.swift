// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The change by one event of the binding of a record, the source, to a record that it names, the
/// target.
package struct ReferenceChange: Hashable, Sendable {
    /// The key of the zone that both are in.
    package var zone: ZoneKey
    /// The hash of the target's name, by ``StoreHash/target(_:)-(RawSpan)``.
    package var target: UInt64
    /// The source's slot.
    package var source: Slot
    /// The position of the event; zero until it has one.
    package var sequence: SequenceNumber
    /// The source's binding after the event; empty if there is none.
    package var binding: Binding

    @inlinable @inline(__always)
    package init(
        zone: ZoneKey,
        target: UInt64,
        source: Slot,
        sequence: SequenceNumber = 0,
        binding: Binding
    ) {
        self.zone = zone
        self.target = target
        self.source = source
        self.sequence = sequence
        self.binding = binding
    }

    /// The key in the index.
    package var key: ViewKey { ViewKey(Self.key(of: target, in: zone), source.rawValue) }

    /// Returns the key that lists all records bound to a target.
    ///
    /// Two targets may share a key by chance: each entry contains its zone, and the source's body
    /// contains the target's name.
    package static func key(of target: UInt64, in zone: ZoneKey) -> UInt64 {
        // `Docs/formats/views.md` defines the constants and the fold. Keys are in the view index:
        // another function needs another version of the views.
        let product = (zone.rawValue ^ 0x9E37_79B9_7F4A_7C15)
            .multipliedFullWidth(by: target ^ 0xBF58_476D_1CE4_E5B9)
        return product.high ^ product.low
    }
}

/// A record that is bound to another one.
package struct Referrer: Hashable, Sendable {
    /// Its slot.
    package var slot: Slot
    /// The kind of binding.
    package var binding: Binding

    @inlinable @inline(__always)
    package init(slot: Slot, binding: Binding) {
        self.slot = slot
        self.binding = binding
    }
}

extension RecordBody {
    /// Returns the bindings of the record, each target once.
    package func bindings(_ hash: StoreHash) -> [(target: UInt64, binding: Binding)] {
        var bindings: [(target: UInt64, binding: Binding)] = []
        var indexes: [UInt64: Int] = [:]
        visitBindings { name, binding in
            let target = hash.target(name)
            // A record may name one target in several fields. The index has one entry for both,
            // with all bindings.
            if let index = indexes[target] {
                bindings[index].binding.formUnion(binding)
            } else {
                indexes[target] = bindings.count
                bindings.append((target, binding))
            }
        }
        return bindings
    }
}

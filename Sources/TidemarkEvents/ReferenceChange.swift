// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// What one event did to the binding of one record, the source, to a record that it names, the
/// target.
package struct ReferenceChange: Hashable, Sendable {
    /// The key of the zone that both are in.
    package var zone: ZoneKey
    /// The target, as ``StoreHash/target(_:)-(RawSpan)`` has it.
    package var target: UInt64
    /// The source's slot.
    package var source: Slot
    /// Position of the event; zero until it has one.
    package var sequence: SequenceNumber
    /// How the source is bound from here on; empty where it no longer is.
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

    /// Where the index has it.
    package var key: ViewKey { ViewKey(Self.key(of: target, in: zone), source.rawValue) }

    /// The key that everything bound to a target is listed under.
    ///
    /// Two targets may share one by chance: each entry says its zone, and the source's body is the
    /// witness.
    package static func key(of target: UInt64, in zone: ZoneKey) -> UInt64 {
        let product = (zone.rawValue ^ 0x9E37_79B9_7F4A_7C15)
            .multipliedFullWidth(by: target ^ 0xBF58_476D_1CE4_E5B9)
        return product.high ^ product.low
    }
}

/// A record that is bound to another one.
package struct Referrer: Hashable, Sendable {
    /// Its slot.
    package var slot: Slot
    /// How it is bound.
    package var binding: Binding

    @inlinable @inline(__always)
    package init(slot: Slot, binding: Binding) {
        self.slot = slot
        self.binding = binding
    }
}

extension RecordBody {
    /// What the record is bound to, each target once.
    package func bindings(_ hash: StoreHash) -> [(target: UInt64, binding: Binding)] {
        var bindings: [(target: UInt64, binding: Binding)] = []
        var indexes: [UInt64: Int] = [:]
        visitBindings { name, binding in
            let target = hash.target(name)
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

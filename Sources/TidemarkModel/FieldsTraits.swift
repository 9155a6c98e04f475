// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Fields {
    /// The kinds of fields that rules ask for, over all fields.
    @usableFromInline package struct Traits: OptionSet, Sendable {
        @usableFromInline package let rawValue: UInt8

        // Computed, since another module would call a function for each stored one.
        /// A field is a reference, or a list of references.
        @inlinable package static var references: Traits { Traits(rawValue: 1) }
        /// A field is an asset, or a list of assets.
        @inlinable package static var assets: Traits { Traits(rawValue: 2) }
        /// The client encrypted a value.
        @inlinable package static var encrypted: Traits { Traits(rawValue: 4) }
        /// A field has a stamp.
        @inlinable package static var stamps: Traits { Traits(rawValue: 8) }
        /// A field was removed, or is to be removed.
        @inlinable package static var removals: Traits { Traits(rawValue: 16) }
        /// The traits are not known.
        @inlinable package static var unread: Traits { Traits(rawValue: 128) }

        @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The traits of one field.
        init(type: UInt8, flags: UInt8, stampByteCount: UInt8 = 0) {
            self =
                switch type {
                case FieldEntry.removed: .removals
                case FieldType.reference.rawValue, FieldType.referenceList.rawValue: .references
                case FieldType.asset.rawValue, FieldType.assetList.rawValue: .assets
                default: []
                }
            if flags & FieldEntry.encrypted != 0 { insert(.encrypted) }
            if stampByteCount > 0 { insert(.stamps) }
        }
    }

    /// The traits; read from the rows unless the fields were made for a save.
    ///
    /// Looks at one word of each field.
    var traits: Traits {
        if !knownTraits.contains(.unread) { return knownTraits }
        let span = bytes.span.bytes
        var traits: Traits = []
        for index in 0..<count {
            traits.formUnion(
                Traits(
                    type: FieldEntry.type(at: index, in: span),
                    flags: FieldEntry.flags(at: index, in: span),
                    stampByteCount: FieldEntry.stampByteCount(at: index, in: span)
                )
            )
        }
        return traits
    }

    /// Returns false only if no field has a trait, and always true for fields of a stored record.
    ///
    /// For code that reads thousands of saves in place: the exact answers below copy the fields.
    @inlinable @inline(__always)
    package func mayHave(_ trait: Traits) -> Bool {
        // The highest bit is that of unread traits.
        knownTraits.rawValue & (trait.rawValue | 128) != 0
    }

    /// True if a field is a reference, or a list of references.
    package var hasReferences: Bool { traits.contains(.references) }

    /// True if a field is an asset, or a list of assets.
    package var namesAssets: Bool { traits.contains(.assets) }

    /// True if the client encrypted at least one value.
    package var hasEncrypted: Bool { traits.contains(.encrypted) }

    /// True if at least one field has a stamp.
    package var hasStamps: Bool { traits.contains(.stamps) }
}

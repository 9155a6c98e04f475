// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// A change to one field: its old and new values.
///
/// Values are decoded on access.
public struct FieldChange: Codable, Sendable {
    /// The field's name.
    public let name: String
    /// The field as it was, under ``FieldChange/before``.
    package let old: Fields.Element?
    /// The field as it is, under ``FieldChange/after``.
    package let new: Fields.Element?

    /// A change of a field from one state to another; a removed one counts as none.
    init(_ name: String, from old: Fields.Element?, to new: Fields.Element?) {
        self.name = name
        self.old = old.flatMap { $0.isRemoved ? nil : $0 }
        self.new = new.flatMap { $0.isRemoved ? nil : $0 }
    }

    /// The value before; `nil` if there was none, or it is no longer known.
    public var before: FieldValue? { old?.value }

    /// The value after; `nil` if the field is there no more.
    public var after: FieldValue? { new?.value }
}

extension [FieldChange] {
    /// The fields that the event which holds `new` has set or removed, by their stamps, in the order of
    /// their names' bytes.
    ///
    /// A field that was set to the value it had is among them. O(fields).
    init(madeBy new: Fields, over old: Fields?) {
        // Stamp 0 stands for the event that holds the body: its number is not known during
        // encoding.
        self = new.filter { $0.stamp == 0 }.map { field in
            FieldChange(field.name, from: old?.field(field.nameBytes), to: field)
        }
    }

    /// Creates the changes of a recreated record: its new fields, and the fields of the earlier
    /// version that it lacks, in the order of their names' bytes.
    ///
    /// O(fields).
    init(beginningWith new: Fields, over old: Fields?) {
        self = []
        Self.merge(old ?? Fields(), new) { before, after in
            guard let field = after ?? before else { return }
            let change = FieldChange(field.name, from: before, to: after)
            if change.old != nil || change.new != nil { append(change) }
        }
    }

    /// The fields that differ in value, type or encryption between two states of a record, in the order
    /// of their names' bytes; `nil` is a record that is not there.
    ///
    /// O(fields + bytes of their values).
    init(from old: Fields?, to new: Fields?) {
        self = []
        Self.merge(old ?? Fields(), new ?? Fields()) { before, after in
            let change = FieldChange((after ?? before)?.name ?? "", from: before, to: after)
            if !change.isSame { append(change) }
        }
    }

    /// Visits two records' fields side by side, in the order of their names' bytes.
    private static func merge(
        _ old: Fields,
        _ new: Fields,
        _ visit: (_ before: Fields.Element?, _ after: Fields.Element?) -> Void
    ) {
        // Fields are in the order of their names' bytes, so one pass finds the pairs.
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            let order: Int =
                if left == old.count { 1 } else if right == new.count { -1 } else {
                    old[left].nameBytes.order(to: new[right].nameBytes)
                }
            let before = order <= 0 ? old[left] : nil
            let after = order >= 0 ? new[right] : nil
            if order <= 0 { left += 1 }
            if order >= 0 { right += 1 }
            visit(before, after)
        }
    }
}

extension FieldChange {
    /// True if nothing changed, except perhaps the stamp.
    fileprivate var isSame: Bool {
        switch (old, new) {
        case (nil, nil): true
        case (let old?, let new?):
            old.type == new.type && old.isEncrypted == new.isEncrypted
                && old.valueBytes == new.valueBytes
        default: false
        }
    }
}

extension Fields {
    /// The field of a name, one that was removed too.
    fileprivate func field(_ name: ArraySlice<UInt8>) -> Element? {
        index(ofBytes: name).map { self[$0] }
    }
}

extension ArraySlice<UInt8> {
    /// Less than, equal to or more than zero, as the bytes come before, at or after other ones.
    fileprivate func order(to other: ArraySlice<UInt8>) -> Int {
        if lexicographicallyPrecedes(other) { return -1 }
        return self == other ? 0 : 1
    }
}

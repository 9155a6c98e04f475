// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The effects on a record of deleting another record that it names, the target.
///
/// The record names the target in its references or as its parent.
///
/// Raw values are tags in the view index.
package struct Binding: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The record is deleted with its target.
    package static let deleteSelf = Binding(rawValue: 1)
    /// The target cannot be deleted while the record refers to it.
    package static let validate = Binding(rawValue: 2)
    /// The target is the record's parent, and cannot be deleted without the record.
    package static let parent = Binding(rawValue: 4)

    /// Creates the binding of a reference with an action.
    package init(_ action: Reference.Action) {
        switch action {
        case .none: self = []
        case .deleteSelf: self = .deleteSelf
        case .validate: self = .validate
        }
    }
}

extension Fields {
    /// Visits the names of the targets to which references of this zone bind the record, in the
    /// order of the fields.
    ///
    /// A target may be visited more than once. Decodes references only; bytes that are not a
    /// reference bind nothing. O(fields).
    package func visitBindings(_ visit: (RawSpan, Binding) -> Void) {
        let span = bytes.span.bytes
        for row in 0..<count {
            let type = FieldEntry.type(at: row, in: span)
            if type == FieldType.reference.rawValue {
                let entry = FieldEntry(at: row, in: span)
                Self.visit(span.extracting(entry.valueRange), visit)
            } else if type == FieldType.referenceList.rawValue {
                let entry = FieldEntry(at: row, in: span)
                let list = span.extracting(entry.valueRange)
                var offset = 0
                // The values of a stored body are not checked (Docs/formats/record.md, "Validity"),
                // so the rest of a list that does not fit its bytes is skipped.
                while let length = list.nextWord32(&offset), list.byteCount - offset >= length {
                    Self.visit(list.extracting(offset..<offset + length), visit)
                    offset += length
                }
            }
        }
    }

    /// One reference's bytes: action, two lengths, the names of the zone and its owner, the target.
    private static func visit(_ link: RawSpan, _ visit: (RawSpan, Binding) -> Void) {
        // Both lengths are zero for a target in the record's own zone (Docs/formats/record.md,
        // "Types and values"). References to other zones bind nothing.
        guard link.byteCount > 5, let action = Reference.Action(rawValue: link.byte(at: 0)),
            action != .none, link.word16(at: 1) == 0, link.word16(at: 3) == 0
        else { return }
        visit(link.extracting(5..<link.byteCount), Binding(action))
    }
}

extension RecordBody {
    /// Visits the names of the targets to which the record is bound.
    ///
    /// These are the targets of its binding references of this zone, then its parent. A target may
    /// be visited more than once. O(fields).
    package func visitBindings(_ visit: (RawSpan, Binding) -> Void) {
        fields.visitBindings(visit)
        let parent = range(of: .parent)
        if !parent.isEmpty { visit(bytes.span.bytes.extracting(parent), .parent) }
    }
}

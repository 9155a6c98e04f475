// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Fields {
    /// Sets a field; `nil` makes a save remove it.
    ///
    /// O(bytes).
    mutating func set(_ name: String, _ value: FieldValue?) {
        var builder = FieldsBuilder()
        let replaced = Name(name)
        for field in self where Name(field.name) != replaced { builder.copy(field) }
        builder.setOrNote(name, value)
        self = builder.finished()
    }

    /// Returns the fields that differ from older ones.
    ///
    /// They have the values of these fields. Fields that only the older ones have become removals.
    /// O(bytes of both).
    package func changes(from old: Fields) -> Fields {
        var builder = FieldsBuilder()
        let (mine, theirs) = (bytes.span.bytes, old.bytes.span.bytes)
        for field in present {
            if let other = old.index(ofBytes: field.nameBytes),
                field.entry.hasSameValue(in: mine, as: old[other].entry, in: theirs)
            {
                continue
            }
            builder.copy(field)
        }
        for field in old.present {
            let kept = index(ofBytes: field.nameBytes).map { self[$0] }
            // The first loop has handled the fields that have a value in both.
            if kept == nil || kept?.isRemoved == true { builder.setOrNote(field.name, nil) }
        }
        return builder.finished()
    }
}

extension FieldsBuilder {
    /// Sets a field, or notes why its value cannot be stored.
    fileprivate mutating func setOrNote(_ name: String, _ value: FieldValue?) {
        if let problem = value?.invalidity {
            setInvalid(name, because: problem)
        } else if name.isEmpty || name.utf8.count > Int(UInt8.max) {
            setInvalid(
                name.isEmpty ? "(no name)" : name,
                because: "has a name that no field may have"
            )
        } else {
            // `set` throws only for the causes that were excluded above.
            do throws(SyncError) {
                try set(name, value)
            } catch {
                preconditionFailure("a field of a valid name and value was rejected: \(error)")
            }
        }
    }

    /// Returns the fields; of a duplicate name, as in a record with damaged bytes, the last one
    /// counts.
    ///
    /// If there are too many, the result is one field that cannot be stored and states the cause,
    /// so that a save reports it: setting a field cannot throw.
    fileprivate mutating func finished() -> Fields {
        keepLastOfEachName()
        if let fields = try? finish() { return fields }
        setInvalid(
            "fields",
            because: "stands for more fields or bytes than a record can have: at most 65,535 "
                + "fields and 4 GiB; leave fields out"
        )
        // A single short field is never too much.
        return (try? finish()) ?? Fields()
    }
}

extension Fields: ExpressibleByDictionaryLiteral {
    /// Encodes fields of Swift values; a field with the value `nil` is a removal.
    ///
    /// A save refuses a value that cannot be stored, such as one that is not a number. Names must
    /// be unique.
    public init(dictionaryLiteral elements: (String, (any FieldConvertible)?)...) {
        var builder = FieldsBuilder()
        var names: Set<Name> = []
        for (name, value) in elements {
            precondition(names.insert(Name(name)).inserted, "the field \"\(name)\" is given twice")
            builder.setOrNote(name, value?.fieldValue)
        }
        self = builder.finished()
    }
}

extension Fields {
    /// The value of a field as a Swift type; `nil` if it is absent or of another type.
    ///
    /// Setting `nil` makes a save remove the field.
    public subscript<Value: FieldConvertible>(_ name: String) -> Value? {
        get { self[name].flatMap(Value.init(fieldValue:)) }
        set { set(name, newValue?.fieldValue) }
    }

    /// Returns the value of a field as a Swift type.
    ///
    /// Throws `invalidArguments` with the field's name, the expected type and the actual type.
    /// O(log fields).
    public func value<Value: FieldConvertible>(
        _ name: String,
        as type: Value.Type = Value.self
    ) throws(SyncError) -> Value {
        guard let value = self[name] as FieldValue? else {
            throw SyncError(
                .invalidArguments,
                "The field \"\(name)\" has no value.",
                remedy: "Read it as an optional where it may be absent."
            )
        }
        guard let converted = Value(fieldValue: value) else {
            throw SyncError(
                .invalidArguments,
                "The field \"\(name)\" is a \(value.type.webName), which cannot be read as \(type).",
                remedy: "Read it as the type it has."
            )
        }
        return converted
    }
}

extension Record {
    /// The value of a field as a Swift type; `nil` if it is absent, or is not of that type.
    public subscript<Value: FieldConvertible>(_ fieldName: String) -> Value? {
        body.fields[fieldName]
    }

    /// Returns the value of a field as a Swift type.
    ///
    /// Throws `invalidArguments` with the field's name, the expected type and the actual type.
    /// O(log fields).
    public func value<Value: FieldConvertible>(
        _ fieldName: String,
        as type: Value.Type = Value.self
    ) throws(SyncError) -> Value {
        try body.fields.value(fieldName, as: type)
    }
}

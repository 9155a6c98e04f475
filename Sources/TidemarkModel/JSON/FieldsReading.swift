// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reading the fields of a record or a save (Docs/formats/changes.md, "Fields").
extension FieldsBuilder {
    /// Reads an object whose members are fields, and adds them.
    ///
    /// Text and numbers are written directly from the JSON into the fields' bytes. If
    /// `removesByNull` is true, the value `null` removes a field; otherwise it is refused.
    package mutating func readFields(
        from reader: inout JSONReader,
        removesByNull: Bool = false
    ) throws(JSONError) {
        var object = try reader.openObject()
        while let key = try reader.nextKey(of: &object) {
            do throws(JSONError) {
                try readField(key, from: &reader, removesByNull)
            } catch {
                throw JSONError(
                    "The field \"\(reader.copy(key))\": \(error.message)",
                    at: error.offset
                )
            }
        }
    }

    /// Reads an object whose members are fields, and returns them; the builder is empty then.
    ///
    /// `start` is the place of an error of all fields together.
    mutating func fields(
        from reader: inout JSONReader,
        removesByNull: Bool = false,
        at start: Int
    ) throws(JSONError) -> Fields {
        try readFields(from: &reader, removesByNull: removesByNull)
        do throws(SyncError) {
            return try finish()
        } catch {
            throw JSONError(error.message, at: start)
        }
    }

    private mutating func readField(
        _ key: JSONText,
        from reader: inout JSONReader,
        _ removesByNull: Bool
    ) throws(JSONError) {
        let offset = reader.offset
        // The name is written before the value is read: both are in one buffer, in this order.
        let start = beginField()
        withScratch { reader.append(key, to: &$0) }
        let nameByteCount = withScratch { $0.count } - start
        var isEncrypted = false
        let type: FieldType?
        switch try reader.peek() {
        case .string, .number, .array:
            type = try appendPlain(from: &reader)
        case .object:
            let typed = try reader.typedValue()
            isEncrypted = typed.isEncrypted
            type = try append(typed, from: reader)
        case .null where removesByNull:
            try reader.null()
            type = nil
        case .null:
            throw JSONError("A field cannot be null; leave it out.", at: offset)
        case .boolean:
            throw JSONError("There is no Boolean type; write 0 or 1.", at: offset)
        }
        do throws(SyncError) {
            try endField(
                start: start,
                nameByteCount: nameByteCount,
                type: type,
                isEncrypted: isEncrypted
            )
        } catch {
            throw JSONError(error.message, at: offset)
        }
    }

    /// Appends a value that was skipped, and returns its type; `nil` if the field has no value.
    private mutating func append(
        _ typed: TypedValue,
        from reader: JSONReader
    ) throws(JSONError) -> FieldType? {
        // Most values are texts and whole numbers of their own types, and are not read again.
        switch (typed.content, typed.type) {
        case (.absent, _): return nil
        case (.text(let text), .string), (.text(let text), nil):
            withScratch { reader.append(text, to: &$0) }
            return .string
        case (.wholeNumber(let number), .int64), (.wholeNumber(let number), .timestamp),
            (.wholeNumber(let number), nil):
            withScratch { $0.append(littleEndian: number) }
            return typed.type ?? .int64
        default: break
        }
        var value = reader.again(at: typed.offset)
        if let type = typed.type {
            try appendValue(of: type, from: &value)
            return type
        }
        if value.webForm != nil { return try appendWebValue(from: &value) }
        return try appendPlain(from: &value)
    }

    /// Appends a value whose form determines its type, and returns the type.
    private mutating func appendPlain(from reader: inout JSONReader) throws(JSONError) -> FieldType
    {
        switch try reader.peek() {
        case .string:
            try withScratch { bytes throws(JSONError) in try reader.appendText(to: &bytes) }
            return .string
        case .number:
            let number = try reader.int64(.field)
            withScratch { $0.append(littleEndian: number) }
            return .int64
        case .array:
            let list = try reader.plainList()
            withScratch { list.encode(into: &$0) }
            return list.type
        case .object, .boolean, .null:
            throw JSONError(
                "A value without a type must be a string, a whole number or a list of these; write "
                    + "{\"value\": …, \"type\": …}.",
                at: reader.offset
            )
        }
    }

    /// Appends a value whose type is known.
    private mutating func appendValue(
        of type: FieldType,
        from reader: inout JSONReader
    ) throws(JSONError) {
        if type == .string {
            // A text is always valid and is its own encoding, so it needs no `FieldValue`.
            try withScratch { bytes throws(JSONError) in try reader.appendText(to: &bytes) }
            return
        }
        let offset = reader.offset
        let value = try reader.value(of: type)
        if let problem = value.invalidity { throw JSONError("It \(problem).", at: offset) }
        withScratch { value.encode(into: &$0) }
    }
}

/// A value that was skipped, to be read once its type is known.
struct TypedValue {
    /// The offset of the value.
    var offset: Int
    var content: Content
    var type: FieldType?
    var isEncrypted: Bool

    /// The content of a value, as far as it was read when the value was skipped.
    enum Content {
        /// No value, which only requests of CloudKit Web Services may express so.
        case absent
        case text(JSONText)
        case wholeNumber(Int64)
        /// Anything else, to be read from its offset.
        case other
    }
}

extension JSONReader {
    /// Reads the members `value`, `type` and `isEncrypted`, in any order.
    mutating func typedValue() throws(JSONError) -> TypedValue {
        let start = offset
        var value: (offset: Int, content: TypedValue.Content)?
        var type: FieldType?
        var isEncrypted: Bool?
        var members = MemberNames()
        var object = try openObject()
        while let key = try nextKey(of: &object) {
            if try members.take(0, "value", key, in: self) {
                // The type may follow the value. The value is skipped now, and used when the type is
                // known.
                let place = offset
                value = (place, try skippedContent())
            } else if webForm != nil, try peek() == .null {
                try null()
            } else if try members.take(1, "type", key, in: self) {
                type = try fieldType()
            } else if try members.take(2, "isEncrypted", key, in: self) {
                isEncrypted = try boolean()
            } else {
                try passUnknown(key, "value, type, isEncrypted")
            }
        }
        guard let value else {
            throw JSONError("A field that is an object needs the member \"value\".", at: start)
        }
        return TypedValue(
            offset: value.offset,
            content: value.content,
            type: type,
            isEncrypted: isEncrypted ?? false
        )
    }

    /// Skips a value, and returns what can be used of it before its type is known.
    private mutating func skippedContent() throws(JSONError) -> TypedValue.Content {
        switch try peek() {
        case .string: return .text(try text())
        case .number:
            guard let whole = try number().int64 else { return .other }
            return .wholeNumber(whole)
        case .null where webForm == nil:
            throw JSONError("A field cannot be null; leave it out.", at: offset)
        case .null:
            try null()
            return .absent
        case .object, .array, .boolean:
            try skip()
            return .other
        }
    }

    private mutating func fieldType() throws(JSONError) -> FieldType? {
        skipSpace()
        let start = offset
        let name = try string()
        if webForm != nil, WebFieldForm.namesNoType(name) { return nil }
        guard let type = FieldType(webName: name) else {
            throw JSONError(
                "There is no field type \"\(name)\"; the types are "
                    + FieldType.allCases.map(\.webName).joined(separator: ", ") + ".",
                at: start
            )
        }
        return type
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Reading requests of CloudKit Web Services: members may be missing, `null` or unknown.
extension JSONReader {
    /// Reads an object, and passes each member that is not `null` to `member`.
    ///
    /// `member` reads the member and returns true, or does not read it and returns false. `null`
    /// gets the names of those that are `null`. Refuses duplicate members.
    mutating func members(
        null isNull: (MemberName) -> Void = { _ in },
        _ member: (inout JSONReader, MemberName) throws(JSONError) -> Bool
    ) throws(JSONError) {
        let beginning = self
        // Names without a common mark differ, so most objects need no list of their names.
        var marks: UInt64 = 0
        // All names so far, once a mark was seen twice.
        var names: Set<String>?
        var object = try openObject()
        while let key = try nextKey(of: &object) {
            let name = MemberName(key, in: self)
            if names == nil, marks & name.mark != 0 {
                names = try beginning.names(before: key)
            }
            marks |= name.mark
            guard names?.insert(name.string).inserted ?? true else {
                throw JSONError(
                    "The member \"\(name.string)\" appears twice; keep one of them.",
                    at: key.range.lowerBound
                )
            }
            if try peek() == .null {
                try null()
                isNull(name)
            } else if try !member(&self, name) {
                try skip()
            }
        }
    }

    /// Returns the names of an object's members before one of them.
    private func names(before last: JSONText) throws(JSONError) -> Set<String> {
        var reader = self
        var names: Set<String> = []
        var object = try reader.openObject()
        while let key = try reader.nextKey(of: &object),
            key.range.lowerBound < last.range.lowerBound
        {
            names.insert(reader.copy(key))
            try reader.skip()
        }
        return names
    }

    /// Reads an array of values.
    mutating func values<Value>(
        _ value: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> [Value] {
        var values: [Value] = []
        var array = try openArray()
        while try nextElement(of: &array) { values.append(try value(&self)) }
        return values
    }

    /// Reads an array of values, or one value in place of an array of one.
    mutating func valuesOrOne<Value>(
        _ value: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> [Value] {
        guard try peek() == .array else { return [try value(&self)] }
        return try values(value)
    }

    /// Reads an array of strings.
    mutating func strings() throws(JSONError) -> [String] {
        try values { (it) throws(JSONError) in try it.string() }
    }

    /// Reads a whole number of at least one that fits an `Int`.
    mutating func count() throws(JSONError) -> Int {
        let start = offset
        let number = try int64()
        guard number > 0 else { throw JSONError("The number must be at least 1.", at: start) }
        return Int(number)
    }

    /// Reads one member of an object as text, and skips the others; `nil` if it does not exist.
    mutating func member(_ wanted: String) throws(JSONError) -> String? {
        var value: String?
        try members { (it, name) throws(JSONError) in
            guard name.string == wanted else { return false }
            value = try it.string()
            return true
        }
        return value
    }

    /// Reads one member of an object as text.
    mutating func neededMember(_ wanted: String) throws(JSONError) -> String {
        let start = offset
        guard let value = try member(wanted) else {
            throw JSONError("The member \"\(wanted)\" is missing.", at: start)
        }
        return value
    }
}

extension WebRequest {
    /// Reads the body; an empty one or `null` is an object without members.
    ///
    /// `assetOfReceipt` returns the assets of the receipts in it.
    func read(
        receipts assetOfReceipt: @escaping (String) -> AssetReference? = { _ in nil },
        _ member: (inout JSONReader, MemberName) throws(JSONError) -> Bool
    ) throws(WebError) {
        // The white space of JSON. A GET has no body.
        let isBlank = body.allSatisfy { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard !isBlank else { return }
        do throws(JSONError) {
            try body.readJSON { (reader) throws(JSONError) in
                reader.webForm = WebFieldForm(
                    callerName: caller.user?.userRecordName,
                    assetOfReceipt: assetOfReceipt
                )
                if try reader.peek() == .null { return try reader.null() }
                try reader.members(member)
            }
        } catch {
            throw WebError(error)
        }
    }
}

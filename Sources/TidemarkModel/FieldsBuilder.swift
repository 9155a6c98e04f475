// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// An encoder of fields that are set in any order.
///
/// Reuse one builder: ``finish()`` keeps its buffers.
public struct FieldsBuilder: Sendable {
    /// A field in the scratch buffer: its name, then its value.
    private struct Piece {
        var start: Int
        var nameByteCount: Int
        var end: Int
        var type: UInt8
        var flags: UInt8
    }

    private var scratch: [UInt8] = []
    private var pieces: [Piece] = []
    private var isSorted = true

    /// Starts without fields.
    public init() {}

    /// Reserves space for fields and for the bytes of their names and values.
    public mutating func reserveCapacity(fields: Int, bytes: Int) {
        pieces.reserveCapacity(fields)
        scratch.reserveCapacity(bytes)
    }

    /// Sets a field; `nil` makes a save remove it.
    ///
    /// Throws `invalidArguments` for a value that cannot be stored, or a name of more than 255
    /// bytes. ``finish()`` detects duplicate names.
    public mutating func set(
        _ name: String,
        _ value: FieldValue?,
        isEncrypted: Bool = false
    ) throws(SyncError) {
        if let problem = value?.invalidity {
            throw SyncError(.invalidArguments, "The field \"\(name)\" \(problem).")
        }
        let start = beginField()
        scratch.append(text: name)
        let nameByteCount = scratch.count - start
        value?.encode(into: &scratch)
        try endField(
            start: start,
            nameByteCount: nameByteCount,
            type: value?.type,
            isEncrypted: isEncrypted
        )
    }

    /// Sets a field to a value that cannot be stored, so that a save reports the cause.
    mutating func setInvalid(_ name: String, because problem: String) {
        let start = scratch.count
        scratch.append(text: name)
        // A row has one byte for the length. The save is refused in any case, so a name that is cut
        // off is enough for the error.
        let nameByteCount = min(scratch.count - start, Int(UInt8.max))
        scratch.removeLast(scratch.count - start - nameByteCount)
        scratch.append(text: problem)
        add(start: start, nameByteCount: nameByteCount, type: FieldEntry.invalid, flags: 0)
    }

    /// Sets a field to the bytes that it has among others, also to a value that cannot be stored, which a
    /// save then refuses.
    package mutating func copy(_ field: Fields.Element) {
        let start = scratch.count
        scratch.append(contentsOf: field.nameBytes)
        let nameByteCount = scratch.count - start
        // The stamp is left out, because the fields that a client sets have none.
        scratch.append(contentsOf: field.valueBytes)
        add(
            start: start,
            nameByteCount: nameByteCount,
            type: field.entry.type,
            flags: field.entry.flags
        )
    }

    /// Returns the start of a field, to pass to
    /// ``endField(start:nameByteCount:type:isEncrypted:)``.
    ///
    /// In between, the caller appends the name, then the value, through ``withScratch(_:)``.
    package func beginField() -> Int { scratch.count }

    /// Lends the buffer at whose end the open field grows.
    package mutating func withScratch<Result, Failure>(
        _ body: (inout [UInt8]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(&scratch)
    }

    /// Closes the open field.
    package mutating func endField(
        start: Int,
        nameByteCount: Int,
        type: FieldType?,
        isEncrypted: Bool = false
    ) throws(SyncError) {
        guard nameByteCount > 0 else {
            throw SyncError(.invalidArguments, "A field has an empty name; name it.")
        }
        guard nameByteCount <= Int(UInt8.max) else {
            let name = String(decoding: scratch[start..<start + nameByteCount], as: UTF8.self)
            throw .fieldNameTooLong(name, limit: Int(UInt8.max))
        }
        add(
            start: start,
            nameByteCount: nameByteCount,
            type: type?.rawValue ?? FieldEntry.removed,
            flags: isEncrypted && type != nil ? FieldEntry.encrypted : 0
        )
    }

    /// Records the end of the buffer as a field.
    private mutating func add(start: Int, nameByteCount: Int, type: UInt8, flags: UInt8) {
        let piece = Piece(
            start: start,
            nameByteCount: nameByteCount,
            end: scratch.count,
            type: type,
            flags: flags
        )
        // Names that ascend strictly are sorted, and none of them occurs twice. `finish()` then
        // copies the buffer as it is.
        if isSorted, let last = pieces.last { isSorted = Self.precedes(last, piece, in: scratch) }
        pieces.append(piece)
    }

    /// Removes all fields, and keeps the buffers.
    public mutating func removeAll() {
        scratch.removeAll(keepingCapacity: true)
        pieces.removeAll(keepingCapacity: true)
        isSorted = true
    }

    /// Returns the fields that were set, in one allocation, and empties the builder.
    ///
    /// Throws `invalidArguments` for a name that was set twice, `limitExceeded` for more than
    /// 65,535 fields or 4 GiB. O(fields log fields), or less if they were set in order.
    public mutating func finish() throws(SyncError) -> Fields {
        // Also after an error, so that the next record does not get fields of this one.
        defer { removeAll() }
        if !isSorted {
            let bytes = scratch
            // The closure reads a copy of the reference: access to `self` would conflict with the
            // sort.
            pieces.sort { Self.precedes($0, $1, in: bytes) }
            for (first, second) in zip(pieces, pieces.dropFirst())
            where !Self.precedes(first, second, in: bytes) {
                throw .fieldSetTwice(name(of: first))
            }
        }
        guard pieces.count <= Int(UInt16.max), scratch.count <= Int(UInt32.max) else {
            throw .tooManyFields(pieces.count, limit: Int(UInt16.max))
        }
        var traits: Fields.Traits = []
        for piece in pieces {
            traits.formUnion(Fields.Traits(type: piece.type, flags: piece.flags))
        }
        let tableByteCount = FieldEntry.tableOffset + pieces.count * FieldEntry.byteCount
        // A field that was refused may have left bytes, so this may be more than is used.
        let capacity = tableByteCount + scratch.count
        let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, byteCount in
            byteCount = write(to: UnsafeMutableRawBufferPointer(buffer), tableByteCount)
        }
        return Fields(sound: bytes[...], traits)
    }

    /// Writes the table and the fields, and returns the number of their bytes.
    private func write(to buffer: UnsafeMutableRawBufferPointer, _ tableByteCount: Int) -> Int {
        buffer.storeBytes(of: UInt16(pieces.count).littleEndian, as: UInt16.self)
        return scratch.withUnsafeBytes { scratch in
            var row = FieldEntry.tableOffset
            var end = 0
            for piece in pieces {
                let field = UnsafeRawBufferPointer(rebasing: scratch[piece.start..<piece.end])
                UnsafeMutableRawBufferPointer(rebasing: buffer[(tableByteCount + end)...])
                    .copyMemory(from: field)
                end += field.count
                let entry = FieldEntry.row(
                    end: end,
                    nameByteCount: piece.nameByteCount,
                    type: piece.type,
                    flags: piece.flags,
                    stamp: 0
                )
                buffer.storeBytes(of: entry.littleEndian, toByteOffset: row, as: UInt64.self)
                row += FieldEntry.byteCount
            }
            return tableByteCount + end
        }
    }

    /// Leaves the last field of each name.
    mutating func keepLastOfEachName() {
        if isSorted { return }
        let bytes = scratch
        let order = pieces.indices.sorted {
            if Self.precedes(pieces[$0], pieces[$1], in: bytes) { return true }
            // Fields of one name keep the order in which they were set: the last of them was set
            // last.
            return !Self.precedes(pieces[$1], pieces[$0], in: bytes) && $0 < $1
        }
        pieces = order.enumerated().compactMap { place, index in
            let isLast =
                place + 1 == order.count
                || Self.precedes(pieces[index], pieces[order[place + 1]], in: bytes)
            return isLast ? pieces[index] : nil
        }
        // The pieces are in order, but their bytes in the buffer are not: `finish()` has to gather
        // them.
        isSorted = false
    }

    private func name(of piece: Piece) -> String {
        String(
            decoding: scratch[piece.start..<piece.start + piece.nameByteCount],
            as: UTF8.self
        )
    }

    private static func precedes(_ first: Piece, _ second: Piece, in bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            let left = bytes[first.start..<first.start + first.nameByteCount]
            let right = bytes[second.start..<second.start + second.nameByteCount]
            return ByteOrder.compare(
                UnsafeRawBufferPointer(rebasing: left),
                UnsafeRawBufferPointer(rebasing: right)
            ) < 0
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// An index of many predicates, so that a record is evaluated only against candidates.
///
/// A predicate such as `list == "work" AND done == 0` is stored under the hash of one of its
/// equalities. Finding candidates hashes each such field of the record once. Predicates without an
/// equality are candidates for every record. To evaluate a candidate, use a ``Query/Matcher``.
package struct PredicateIndex: Sendable {
    /// The predicates that are found by the value of one field.
    private struct Terms: Sendable {
        let key: Query.Key
        let nameBytes: [UInt8]
        /// The number of places in `buckets`.
        var count = 0
        /// The predicates by the hash of a value that they demand.
        var buckets: [Int: [Int]] = [:]
    }

    private var terms: [Terms] = []
    /// Predicates without an equality.
    private var others: [Int] = []

    /// Creates an index of no predicates.
    package init() {}

    /// Adds a predicate under its number.
    package mutating func insert(_ id: Int, _ predicate: Query.Predicate) {
        guard let demands = Demand.of(predicate) else {
            others.append(id)
            return
        }
        for demand in demands {
            let index = self.index(of: demand.key)
            terms[index].buckets[demand.hash, default: []].append(id)
            terms[index].count += 1
        }
    }

    /// Removes a predicate that was added under a number.
    package mutating func remove(_ id: Int, _ predicate: Query.Predicate) {
        guard let demands = Demand.of(predicate) else {
            others.removeAll { $0 == id }
            return
        }
        for demand in demands {
            // The demands are a function of the predicate, so these are the buckets that `insert`
            // filled.
            let index = self.index(of: demand.key)
            terms[index].buckets[demand.hash]?.removeAll { $0 == id }
            if terms[index].buckets[demand.hash]?.isEmpty ?? false {
                terms[index].buckets[demand.hash] = nil
            }
            terms[index].count -= 1
        }
        // Each remaining term is a lookup in every record, so empty ones are removed.
        terms.removeAll { $0.count == 0 }
    }

    private mutating func index(of key: Query.Key) -> Int {
        if let index = terms.firstIndex(where: { $0.key == key }) { return index }
        terms.append(Terms(key: key, nameBytes: Array(key.description.utf8)))
        return terms.count - 1
    }

    /// Appends the numbers of all predicates that a record may fulfil; a number may occur twice.
    ///
    /// O(fields that predicates demand, and candidates).
    package func appendCandidates(for body: RecordBody, to candidates: inout [Int]) {
        candidates += others
        if terms.isEmpty { return }
        let fieldsAt = body.textEnd
        let bytes = body.bytes.span.bytes
        for terms in terms {
            let value =
                switch terms.key {
                case .field: body.stored(terms.nameBytes, fieldsAt: fieldsAt)
                case .system(let field): body.stored(field)
                }
            // An absent field fulfils no demand: demands are equalities with a value.
            guard let value else { continue }
            // Lists are demanded by their elements only: `of` makes no demand for a comparison of
            // whole lists.
            if var elements = StoredElements(value) {
                // Each bucket once, however often a list has its value.
                var seen: Set<Int> = []
                while let element = elements.next(in: bytes) {
                    guard let hash = Demand.hash(of: element, in: bytes),
                        let bucket = terms.buckets[hash], seen.insert(hash).inserted
                    else { continue }
                    candidates += bucket
                }
            } else if let hash = Demand.hash(of: value, in: bytes) {
                candidates += terms.buckets[hash] ?? []
            }
        }
    }
}

/// A demand that a field holds a value: as itself, or as an element of a list.
private struct Demand {
    let key: Query.Key
    let hash: Int

    /// Returns demands of which a matching record fulfils at least one; `nil` if there are none.
    static func of(_ predicate: Query.Predicate) -> [Demand]? {
        switch predicate {
        // No bucket has it, so it is a candidate for no record.
        case .never: return []
        // `.not` demands no value: a record without the field fulfils `NOT (field == value)`.
        case .always, .not, .words, .distance: return nil
        case .comparison(let comparison): return of(comparison)
        case .and(let parts):
            // A matching record fulfils the demands of every part, so one part is enough. The part
            // with the fewest values fills the fewest buckets.
            return parts.compactMap(of).min { $0.count < $1.count }
        case .or(let parts):
            var demands: [Demand] = []
            for part in parts {
                // A part without demands may be fulfilled by any record, and so may the whole.
                guard let more = of(part) else { return nil }
                demands += more
            }
            return demands
        }
    }

    private static func of(_ comparison: Query.Comparison) -> [Demand]? {
        // With options, texts of different bytes are equal, and their hashes differ.
        guard comparison.options.isEmpty, case .value(let value) = comparison.operand else {
            return nil
        }
        let values: [FieldValue]
        switch comparison.relation {
        case .equal, .contains:
            guard value.type.element == nil else { return nil }
            values = [value]
        case .in, .containsAny:
            // Without elements there is no demand, because no record fulfils `IN {}`.
            values = value.elements
        case .containsAll:
            // Every element is demanded, so any one of them finds the candidates.
            // `ALL {} IN list` is true for every list, so an empty one demands nothing.
            guard let first = value.elements.first else { return nil }
            values = [first]
        default: return nil
        }
        var hashes: Set<Int> = []
        for value in values {
            // Values that collide only make more candidates. A value without a hash would be
            // missed.
            guard let hash = hash(of: value) else { return nil }
            hashes.insert(hash)
        }
        return hashes.map { Demand(key: comparison.key, hash: $0) }
    }

    /// The kinds of values that can be equal to each other.
    private enum Kind: UInt8 {
        case number, time, text, name
    }

    private static func hash(of value: FieldValue) -> Int? {
        switch value {
        case .int64(let number): hash(.whole(number))
        case .double(let number): hash(.real(number))
        case .timestamp(let time): hash(.time, UInt64(bitPattern: time))
        case .string(let text): Name(text).withBytes { hash(.text, UnsafeRawBufferPointer($0)) }
        case .reference(let link):
            link.name.withBytes { hash(.name, UnsafeRawBufferPointer($0)) }
        default: nil
        }
    }

    static func hash(of value: StoredValue, in bytes: RawSpan) -> Int? {
        switch value.type {
        case .int64, .double: return value.number(in: bytes).map { hash($0) }
        case .timestamp: return value.int64(in: bytes).map { hash(.time, UInt64(bitPattern: $0)) }
        case .string, .reference:
            guard let range = value.text(in: bytes) else { return nil }
            return bytes.extracting(range).withUnsafeBytes {
                hash(value.type == .string ? .text : .name, $0)
            }
        default: return nil
        }
    }

    /// Numbers that are equal have one hash, whichever type they are of.
    private static func hash(_ number: Number) -> Int {
        switch number {
        case .whole(let whole): hash(.number, UInt64(bitPattern: whole))
        case .real(let real):
            // A double that is a 64-bit integer has the hash of that integer, and -0 that of 0. All
            // others equal no integer, so their bits are enough.
            hash(.number, Int64(exactly: real).map { UInt64(bitPattern: $0) } ?? real.bitPattern)
        }
    }

    private static func hash(_ kind: Kind, _ word: UInt64) -> Int {
        // The seed of `Hasher` differs between processes, so these hashes must never be stored.
        var hasher = Hasher()
        hasher.combine(kind.rawValue)
        hasher.combine(word)
        return hasher.finalize()
    }

    private static func hash(_ kind: Kind, _ bytes: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(kind.rawValue)
        hasher.combine(bytes: bytes)
        return hasher.finalize()
    }
}

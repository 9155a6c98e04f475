// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// A predicate prepared for many records.
    ///
    /// Matching a record decodes the fields that the predicate names in place, and allocates
    /// nothing. A copy shares the prepared state.
    public struct Matcher: Sendable {
        private enum Step: Sendable {
            case always
            case never
            /// Parts up to an index, all of which must be fulfilled.
            case all(end: Int)
            /// Parts up to an index, one of which must be fulfilled.
            case any(end: Int)
            /// The next part must not be fulfilled.
            case not
            case field([UInt8], FieldTest)
            case system(SystemField, FieldTest)
            case words([UInt8]?, WordFinder)
            case distance([UInt8], Coordinates, Relation, Double)
        }

        /// The tree, each part after the part that contains it.
        private var steps: [Step] = []
        /// The fields that a search in all words reads; `nil` for all.
        private let searchedFields: [[UInt8]]?

        /// Prepares a predicate.
        ///
        /// `now` is the time for `now()`, in milliseconds since 1970. `searchedFields` are the
        /// fields that a search in all words reads, if not all of them. Throws `invalidArguments`
        /// if the predicate makes no sense.
        public init(
            _ predicate: Predicate,
            now: Int64,
            searchedFields: [String]? = nil
        ) throws(SyncError) {
            if let problem = predicate.problem { throw .invalidPredicate(predicate, problem) }
            self.searchedFields = searchedFields?.map { Array($0.utf8) }
            add(predicate, now)
        }

        private mutating func add(_ predicate: Predicate, _ now: Int64) {
            switch predicate {
            case .always: steps.append(.always)
            case .never: steps.append(.never)
            case .and(let parts), .or(let parts):
                // The end of the parts is known only after they were added, so the step is replaced
                // then.
                let index = steps.count
                steps.append(.always)
                for part in parts { add(part, now) }
                if case .and = predicate {
                    steps[index] = .all(end: steps.count)
                } else {
                    steps[index] = .any(end: steps.count)
                }
            case .not(let part):
                steps.append(.not)
                add(part, now)
            case .comparison(let comparison):
                let test = FieldTest(comparison, now: now)
                switch comparison.key {
                case .field(let name): steps.append(.field(Array(name.string.utf8), test))
                case .system(let field): steps.append(.system(field, test))
                }
            case .words(let search):
                let finder = WordFinder(search)
                // Without words nothing is found, even if all words are required (Docs/queries.md,
                // "What it means").
                steps.append(finder.isEmpty ? .never : .words(search.key?.nameBytes, finder))
            case .distance(let test):
                let origin = Coordinates(test.origin)
                let name = test.key.nameBytes
                steps.append(.distance(name, origin, test.relation, test.radius))
            }
        }

        /// Returns true if a record fulfils the predicate.
        ///
        /// Does not read the record's type.
        public func matches(_ record: Record) -> Bool { matches(record.body) }

        /// Returns true if a record fulfils the predicate.
        ///
        /// Does not read the record's type.
        public func matches(_ body: RecordBody) -> Bool {
            // The start of the fields is computed once for all steps.
            var index = 0
            return evaluate(&index, body, body.textEnd)
        }

        /// Evaluates the part at an index, and advances the index.
        private func evaluate(_ index: inout Int, _ body: RecordBody, _ fieldsAt: Int) -> Bool {
            // Every path must leave the index behind the part. Otherwise the caller would evaluate
            // a step in the middle of it as the next part.
            let step = index
            index += 1
            switch steps[step] {
            case .always: return true
            case .never: return false
            case .all(let end):
                while index < end {
                    if !evaluate(&index, body, fieldsAt) {
                        // The parts that were not evaluated must be skipped: the caller continues
                        // at the index.
                        index = end
                        return false
                    }
                }
                return true
            case .any(let end):
                while index < end {
                    if evaluate(&index, body, fieldsAt) {
                        index = end
                        return true
                    }
                }
                return false
            case .not: return !evaluate(&index, body, fieldsAt)
            case .field(let name, let test):
                let value = body.stored(name, fieldsAt: fieldsAt)
                return test.isFulfilled(by: value, in: body.bytes.span.bytes)
            case .system(let field, let test):
                return test.isFulfilled(by: body.stored(field), in: body.bytes.span.bytes)
            case .words(let name, let finder):
                return holdsWords(finder, name, body, fieldsAt)
            case .distance(let name, let origin, let relation, let radius):
                // A record without the place fulfils no test of a distance, not even one with `>`.
                let bytes = body.bytes.span.bytes
                guard
                    let place = body.stored(name, fieldsAt: fieldsAt)?.coordinates(in: bytes)
                else { return false }
                return relation.holds(origin.distance(to: place), radius)
            }
        }

        private func holdsWords(
            _ finder: WordFinder,
            _ name: [UInt8]?,
            _ body: RecordBody,
            _ fieldsAt: Int
        ) -> Bool {
            let bytes = body.bytes.span.bytes
            var progress = finder.begun
            if let name {
                guard let value = body.stored(name, fieldsAt: fieldsAt) else { return false }
                return finder.look(at: value, in: bytes, &progress)
            }
            // The words of a search may be spread over several fields, so the progress spans all of
            // them.
            let fields = bytes.extracting(fieldsAt..<bytes.byteCount)
            for index in 0..<fields.word16(at: 0) {
                let entry = FieldEntry(at: index, in: fields)
                guard let value = StoredValue(entry, from: fieldsAt),
                    isSearched(entry, in: fields)
                else { continue }
                if finder.look(at: value, in: bytes, &progress) { return true }
            }
            return false
        }

        private func isSearched(_ entry: FieldEntry, in fields: RawSpan) -> Bool {
            guard let searchedFields else { return true }
            return searchedFields.contains { name in
                name.withUnsafeBytes { entry.compareName(to: $0, in: fields) } == 0
            }
        }
    }
}

extension WordFinder {
    /// Reads a text, or the texts of a list; returns true if the search has found all it needs.
    fileprivate func look(
        at value: StoredValue,
        in bytes: RawSpan,
        _ progress: inout Progress
    ) -> Bool {
        if value.type == .string { return look(at: value.range, in: bytes, &progress) }
        guard value.type == .stringList, var elements = StoredElements(value) else { return false }
        while let element = elements.next(in: bytes) {
            if look(at: element.range, in: bytes, &progress) { return true }
        }
        return false
    }
}

extension Query.Key {
    fileprivate var nameBytes: [UInt8] { Array(description.utf8) }
}

extension Query.Relation {
    /// Returns true if the relation holds between two numbers.
    fileprivate func holds(_ left: Double, _ right: Double) -> Bool {
        switch self {
        case .lessThan: left < right
        case .lessThanOrEqual: left <= right
        case .greaterThan: left > right
        case .greaterThanOrEqual: left >= right
        default: false
        }
    }
}

extension Query.Predicate {
    /// Returns true if a record fulfils the predicate.
    ///
    /// `now` is the time for `now()`, in milliseconds since 1970. Throws `invalidArguments` if the
    /// predicate makes no sense. For many records, prepare a ``Query/Matcher`` once.
    public func matches(_ record: Record, now: Int64) throws(SyncError) -> Bool {
        try Query.Matcher(self, now: now).matches(record)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// The order of a query's results, prepared for many records.
    ///
    /// It is total: records that are equal by all criteria are ordered by their names' bytes, then
    /// by their zones. Values of different types, which only a record of another schema can have,
    /// are ordered by type.
    public struct RecordOrder: Sendable {
        private let criteria: [Criterion]

        fileprivate struct Criterion: Sendable {
            let key: Key
            let name: [UInt8]
            let isAscending: Bool
            let origin: Coordinates?
        }

        /// Prepares an order.
        public init(_ sortDescriptors: [SortDescriptor]) {
            criteria = sortDescriptors.map {
                Criterion(
                    key: $0.key,
                    name: Array($0.key.description.utf8),
                    isAscending: $0.isAscending,
                    origin: $0.origin.map(Coordinates.init)
                )
            }
        }

        /// Returns true if one record sorts before another.
        public func areInIncreasingOrder(_ first: Record, _ second: Record) -> Bool {
            let order = compare(first.body, second.body)
            return order == 0 ? first.zone < second.zone : order < 0
        }

        /// Compares two records: negative, zero or positive if the first sorts before, with or
        /// after the second.
        ///
        /// Ignores zones.
        package func compare(_ first: RecordBody, _ second: RecordBody) -> Int {
            for criterion in criteria {
                let order = criterion.compare(first, second)
                if order != 0 { return criterion.isAscending ? order : -order }
            }
            // Names are unique in a zone, which makes the order total: paging needs an exact place
            // to continue (Docs/queries.md, "Order").
            return TextOrder.compare(
                first.range(of: .recordName),
                in: first.bytes.span.bytes,
                to: second.bytes.span.bytes,
                second.range(of: .recordName)
            )
        }
    }
}

extension Query.RecordOrder.Criterion {
    fileprivate func compare(_ first: RecordBody, _ second: RecordBody) -> Int {
        let left = first.bytes.span.bytes
        let right = second.bytes.span.bytes
        guard let origin else {
            return SortKey(value(in: first), in: left).compare(
                in: left,
                to: SortKey(value(in: second), in: right),
                in: right
            )
        }
        // Sorts records without a place last, in both directions.
        let absent: Double = isAscending ? .infinity : -.infinity
        let near = value(in: first)?.coordinates(in: left).map(origin.distance) ?? absent
        let far = value(in: second)?.coordinates(in: right).map(origin.distance) ?? absent
        return Number.order(near, far)
    }

    private func value(in body: RecordBody) -> StoredValue? {
        switch key {
        case .field: body.stored(name, fieldsAt: body.textEnd)
        case .system(let field): body.stored(field)
        }
    }
}

/// A value by which records are ordered: absent, numbers, times, texts, references; then values
/// without an order.
private enum SortKey {
    case absent
    case number(Number)
    case time(Int64)
    case text(Range<Int>)
    case reference(Range<Int>)
    case other

    init(_ value: StoredValue?, in bytes: RawSpan) {
        self = value.flatMap { Self.read($0, bytes) } ?? .absent
    }

    private static func read(_ value: StoredValue, _ bytes: RawSpan) -> SortKey? {
        switch value.type {
        case .int64, .double: value.number(in: bytes).map(SortKey.number)
        case .timestamp: value.int64(in: bytes).map(SortKey.time)
        case .string: .text(value.range)
        case .reference: value.text(in: bytes).map(SortKey.reference)
        default: .other
        }
    }

    private var rank: Int {
        switch self {
        case .absent: 0
        case .number: 1
        case .time: 2
        case .text: 3
        case .reference: 4
        case .other: 5
        }
    }

    func compare(in bytes: RawSpan, to other: SortKey, in otherBytes: RawSpan) -> Int {
        switch (self, other) {
        case (.number(let left), .number(let right)): Number.compare(left, right)
        case (.time(let left), .time(let right)): Number.order(left, right)
        case (.text(let left), .text(let right)), (.reference(let left), .reference(let right)):
            TextOrder.compare(left, in: bytes, to: otherBytes, right)
        // Two absent values are equal, and so are two without an order. The next criterion decides.
        default: Number.order(rank, other.rank)
        }
    }
}

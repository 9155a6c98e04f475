// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A comparison prepared for many records: constants decoded, folded and sorted once.
struct FieldTest: Sendable {
    /// Constants of one kind, in ascending order, except those of `BETWEEN`.
    enum Constants: Sendable {
        case numbers([Number])
        case times([Int64])
        /// Texts, folded by the comparison's options.
        case texts([[UInt8]])
        /// Names of records.
        case names([[UInt8]])
        case places([Coordinates])
        /// No constant: the field is absent.
        case null
    }

    let relation: Query.Relation
    let options: Query.TextOptions
    let constants: Constants
    /// True if the operand is a list that is compared with a whole list.
    let comparesLists: Bool

    /// Prepares a valid comparison; `now` is the time for `now()`.
    init(_ comparison: Query.Comparison, now: Int64) {
        relation = comparison.relation
        options = comparison.options
        switch comparison.operand {
        case .null:
            constants = .null
            comparesLists = false
        case .now:
            constants = .times([now])
            comparesLists = false
        case .value(let value):
            let isSet =
                switch comparison.relation {
                case .in, .containsAll, .containsAny: true
                default: false
                }
            comparesLists = !isSet && relation != .between && value.type.element != nil
            let elements = value.type.element == nil ? [value] : value.elements
            let type = value.type.element ?? value.type
            constants = Constants(elements, type, options).sorted(isSet)
        }
    }

    /// Returns true if a field fulfils the comparison; `nil` stands for an absent field.
    func isFulfilled(by value: StoredValue?, in bytes: RawSpan) -> Bool {
        switch relation {
        case .equal: isEqual(value, in: bytes)
        // The exact complement of `==`, so that an absent field fulfils it (Docs/queries.md, "What
        // it means").
        case .notEqual: !isEqual(value, in: bytes)
        default: value.map { isFulfilled(by: $0, in: bytes) } ?? false
        }
    }

    private func isFulfilled(by value: StoredValue, in bytes: RawSpan) -> Bool {
        switch relation {
        // The caller evaluates these two, because they also apply to an absent field.
        case .equal, .notEqual: return false
        case .lessThan: return order(value, in: bytes, to: 0).map { $0 < 0 } ?? false
        case .lessThanOrEqual: return order(value, in: bytes, to: 0).map { $0 <= 0 } ?? false
        case .greaterThan: return order(value, in: bytes, to: 0).map { $0 > 0 } ?? false
        case .greaterThanOrEqual: return order(value, in: bytes, to: 0).map { $0 >= 0 } ?? false
        case .between:
            // The constants keep the order of the query, so no value fulfils `BETWEEN {5, 1}`.
            guard let low = order(value, in: bytes, to: 0), low >= 0,
                let high = order(value, in: bytes, to: 1)
            else { return false }
            return high <= 0
        case .beginsWith: return begins(value, in: bytes)
        case .in: return index(of: value, in: bytes) != nil
        case .contains, .containsAny:
            return anyElement(of: value, in: bytes) { index(of: $0, in: bytes) != nil }
        case .containsAll: return holdsAll(value, in: bytes)
        case .memberBeginsWith:
            return anyElement(of: value, in: bytes) { begins($0, in: bytes) }
        }
    }

    private func isEqual(_ value: StoredValue?, in bytes: RawSpan) -> Bool {
        guard let value else {
            if case .null = constants { return true }
            return false
        }
        // If the operand is `nil`, the order is `nil` too. So a field with a value is not equal to
        // it.
        guard comparesLists else { return order(value, in: bytes, to: 0) == 0 }
        guard var elements = StoredElements(value) else { return false }
        for index in 0..<constants.count {
            guard let element = elements.next(in: bytes),
                order(element, in: bytes, to: index) == 0
            else { return false }
        }
        // Two empty lists of different types have no elements that differ, so their types are
        // compared.
        return elements.next(in: bytes) == nil && constants.fits(value.type.element)
    }

    private func begins(_ value: StoredValue, in bytes: RawSpan) -> Bool {
        guard case .texts(let texts) = constants, let prefix = texts.first,
            let range = value.text(in: bytes)
        else { return false }
        return TextOrder.begins(range, in: bytes, options, with: prefix)
    }

    private func anyElement(
        of value: StoredValue,
        in bytes: RawSpan,
        _ isWanted: (StoredValue) -> Bool
    ) -> Bool {
        guard var elements = StoredElements(value) else { return false }
        while let element = elements.next(in: bytes) {
            if isWanted(element) { return true }
        }
        return false
    }

    /// Returns true if a list holds every constant.
    private func holdsAll(_ value: StoredValue, in bytes: RawSpan) -> Bool {
        guard value.type.element != nil else { return false }
        if constants.count > Self.fewConstants { return holdsMany(value, in: bytes) }
        // O(elements × constants), without allocating anything.
        for index in 0..<constants.count {
            let isHeld = anyElement(of: value, in: bytes) {
                order($0, in: bytes, to: index) == 0
            }
            if !isHeld { return false }
        }
        return true
    }

    /// The number of constants for which a list is read once for each.
    private static let fewConstants = 8

    /// Returns true if a list holds every one of many constants.
    private func holdsMany(_ value: StoredValue, in bytes: RawSpan) -> Bool {
        var missing = constants.count
        var isHeld = [Bool](repeating: false, count: missing)
        return anyElement(of: value, in: bytes) { element in
            if let index = index(of: element, in: bytes), !isHeld[index] {
                isHeld[index] = true
                missing -= 1
            }
            return missing == 0
        }
    }

    /// Returns the index of the sorted constant that equals the value; `nil` if none does.
    private func index(of value: StoredValue, in bytes: RawSpan) -> Int? {
        var low = 0
        var high = constants.count
        while low < high {
            let middle = (low + high) / 2
            // All constants are of one kind. If one cannot be compared with the value, none can.
            guard let order = order(value, in: bytes, to: middle) else { return nil }
            if order == 0 { return middle }
            if order > 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Compares a value with a constant; `nil` if they are of different kinds.
    private func order(_ value: StoredValue, in bytes: RawSpan, to index: Int) -> Int? {
        switch constants {
        case .null: return nil
        case .numbers(let numbers):
            return value.number(in: bytes).map { Number.compare($0, numbers[index]) }
        case .times(let times):
            guard value.type == .timestamp else { return nil }
            return value.int64(in: bytes).map { Number.order($0, times[index]) }
        case .texts(let texts):
            guard value.type == .string else { return nil }
            return TextOrder.compare(value.range, in: bytes, options, to: texts[index])
        case .names(let names):
            // Names are compared exactly, because `problem` refuses options for references.
            guard value.type == .reference, let range = value.text(in: bytes) else { return nil }
            return TextOrder.compare(range, in: bytes, [], to: names[index])
        case .places(let places):
            return value.coordinates(in: bytes).map { Coordinates.order($0, places[index]) }
        }
    }
}

extension FieldTest.Constants {
    /// Decodes values of one type.
    fileprivate init(_ values: [FieldValue], _ type: FieldType, _ options: Query.TextOptions) {
        switch type {
        case .int64, .double:
            self = .numbers(
                values.compactMap {
                    switch $0 {
                    case .int64(let number): .whole(number)
                    case .double(let number): .real(number)
                    default: nil
                    }
                }
            )
        case .timestamp:
            self = .times(
                values.compactMap { if case .timestamp(let time) = $0 { time } else { nil } }
            )
        case .reference:
            self = .names(
                values.compactMap {
                    if case .reference(let link) = $0 { Array(link.recordName.utf8) } else { nil }
                }
            )
        case .location:
            self = .places(
                values.compactMap {
                    if case .location(let place) = $0 { Coordinates(place) } else { nil }
                }
            )
        default:
            self = .texts(
                values.compactMap {
                    guard case .string(let text) = $0 else { return nil }
                    return FoldedText.bytes(of: text, options)
                }
            )
        }
    }

    /// Returns the constants of a set in ascending order, each once; others as they are.
    fileprivate func sorted(_ isSet: Bool) -> FieldTest.Constants {
        // The order is part of the meaning of a list that is compared as a whole, and of BETWEEN.
        guard isSet else { return self }
        switch self {
        case .null: return self
        case .numbers(let numbers): return .numbers(numbers.ascending(Number.compare))
        case .times(let times): return .times(times.ascending(Number.order))
        case .texts(let texts): return .texts(texts.ascending(Self.order))
        case .names(let names): return .names(names.ascending(Self.order))
        case .places(let places): return .places(places.ascending(Coordinates.order))
        }
    }

    private static func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    fileprivate var count: Int {
        switch self {
        case .null: 0
        case .numbers(let numbers): numbers.count
        case .times(let times): times.count
        case .texts(let texts): texts.count
        case .names(let names): names.count
        case .places(let places): places.count
        }
    }

    /// Returns true if a list of a type can equal the constants.
    fileprivate func fits(_ type: FieldType?) -> Bool {
        switch self {
        case .null: false
        // Numbers of both types mix, so an empty list of integers equals an empty list of doubles.
        case .numbers: type == .int64 || type == .double
        case .times: type == .timestamp
        case .texts: type == .string
        case .names: type == .reference
        case .places: type == .location
        }
    }
}

extension Coordinates {
    /// By latitude, then by longitude.
    static func order(_ first: Coordinates, _ second: Coordinates) -> Int {
        let order = Number.order(first.latitude, second.latitude)
        return order != 0 ? order : Number.order(first.longitude, second.longitude)
    }
}

extension Array {
    /// Returns the elements in ascending order, each once.
    fileprivate func ascending(_ order: (Element, Element) -> Int) -> [Element] {
        sorted { order($0, $1) < 0 }.reduce(into: []) { kept, element in
            if let last = kept.last, order(last, element) == 0 { return }
            kept.append(element)
        }
    }
}

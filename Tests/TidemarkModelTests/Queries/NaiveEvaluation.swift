// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import TidemarkModel

/// Evaluates predicates on decoded values, with Foundation's texts and vectors for places: slow, and
/// written from the rules and not from the matcher.
struct NaiveEvaluation {
    let now: Int64

    func matches(_ predicate: Query.Predicate, _ record: Record) -> Bool {
        switch predicate {
        case .always: return true
        case .never: return false
        case .and(let parts): return parts.allSatisfy { matches($0, record) }
        case .or(let parts): return parts.contains { matches($0, record) }
        case .not(let part): return !matches(part, record)
        case .comparison(let comparison): return matches(comparison, record)
        case .words(let search): return matches(search, record)
        case .distance(let test):
            guard case .location(let place)? = value(of: test.key, in: record) else { return false }
            let distance = Self.distance(place, test.origin)
            switch test.relation {
            case .lessThan: return distance < test.radius
            case .lessThanOrEqual: return distance <= test.radius
            case .greaterThan: return distance > test.radius
            default: return distance >= test.radius
            }
        }
    }

    func value(of key: Query.Key, in record: Record) -> FieldValue? {
        func link(_ name: String?) -> FieldValue? {
            name.map { .reference(Reference(recordName: $0)) }
        }
        switch key {
        case .field(let name):
            guard let index = record.fields.index(of: name.string) else { return nil }
            return record.fields[index].isEncrypted ? nil : record.fields[index].value
        case .system(.recordID): return link(record.body.recordName)
        case .system(.creationDate): return .timestamp(record.created.time)
        case .system(.modificationDate): return .timestamp(record.modified.time)
        case .system(.creatorUserRecordID): return link(record.created.user?.userRecordName)
        case .system(.lastModifiedUserRecordID): return link(record.modified.user?.userRecordName)
        case .system(.parent): return link(record.body.parentName)
        case .system(.share): return link(record.body.shareName)
        }
    }

    private func matches(_ comparison: Query.Comparison, _ record: Record) -> Bool {
        let found = value(of: comparison.key, in: record)
        let operand: FieldValue
        switch comparison.operand {
        case .null: return (found == nil) == (comparison.relation == .equal)
        case .now: operand = .timestamp(now)
        case .value(let value): operand = value
        }
        guard let found else { return comparison.relation == .notEqual }
        let options = comparison.options
        func isEqual(_ left: FieldValue, _ right: FieldValue) -> Bool {
            guard left.type.element != nil || right.type.element != nil else {
                return Self.order(left, right, options) == .orderedSame
            }
            guard let first = left.type.element, let second = right.type.element,
                left.elements.count == right.elements.count
            else { return false }
            let areNumbers = [first, second].allSatisfy { $0 == .int64 || $0 == .double }
            guard first == second || areNumbers else { return false }
            return zip(left.elements, right.elements).allSatisfy(isEqual)
        }
        func isOrdered(_ orders: ComparisonResult...) -> Bool {
            Self.order(found, operand, options).map(orders.contains) ?? false
        }
        func begins(_ text: FieldValue) -> Bool {
            guard case .string(let prefix) = operand else { return false }
            let own: String
            switch text {
            case .string(let content): own = content
            case .reference(let link): own = link.recordName
            default: return false
            }
            let folded = Self.folded(own, options).unicodeScalars
            return folded.starts(with: Self.folded(prefix, options).unicodeScalars)
        }
        switch comparison.relation {
        case .equal: return isEqual(found, operand)
        case .notEqual: return !isEqual(found, operand)
        case .lessThan: return isOrdered(.orderedAscending)
        case .lessThanOrEqual: return isOrdered(.orderedAscending, .orderedSame)
        case .greaterThan: return isOrdered(.orderedDescending)
        case .greaterThanOrEqual: return isOrdered(.orderedDescending, .orderedSame)
        case .between:
            let low = Self.order(found, operand.elements[0], options)
            let high = Self.order(found, operand.elements[1], options)
            return (low == .orderedSame || low == .orderedDescending)
                && (high == .orderedSame || high == .orderedAscending)
        case .beginsWith: return begins(found)
        case .in:
            return found.type.element == nil && operand.elements.contains { isEqual(found, $0) }
        case .contains: return found.elements.contains { isEqual($0, operand) }
        case .containsAll:
            return found.type.element != nil
                && operand.elements.allSatisfy { one in
                    found.elements.contains { isEqual($0, one) }
                }
        case .containsAny:
            return operand.elements.contains { one in found.elements.contains { isEqual($0, one) } }
        case .memberBeginsWith: return found.elements.contains(where: begins)
        }
    }

    /// How two values are ordered; `nil` if they are of different kinds.
    static func order(
        _ left: FieldValue,
        _ right: FieldValue,
        _ options: Query.TextOptions
    ) -> ComparisonResult? {
        func compare<Value: Comparable>(_ first: Value, _ second: Value) -> ComparisonResult {
            first < second ? .orderedAscending : second < first ? .orderedDescending : .orderedSame
        }
        func decimal(_ value: FieldValue) -> Decimal? {
            switch value {
            case .int64(let number): Decimal(number)
            case .double(let number) where abs(number) < 1e20:
                Decimal(string: String(format: "%.10f", number))
            default: nil
            }
        }
        switch (left, right) {
        case (.timestamp(let first), .timestamp(let second)): return compare(first, second)
        case (.string(let first), .string(let second)):
            return compare(
                Name(folded(first, options)),
                Name(folded(second, options))
            )
        case (.reference(let first), .reference(let second)):
            return compare(first.name, second.name)
        case (.location(let first), .location(let second)):
            let latitudes = compare(first.latitude, second.latitude)
            return latitudes == .orderedSame
                ? compare(first.longitude, second.longitude) : latitudes
        case (.double(let first), .double(let second)): return compare(first, second)
        case (.int64, .double(let second)) where abs(second) >= 1e20:
            return second > 0 ? .orderedAscending : .orderedDescending
        case (.double(let first), .int64) where abs(first) >= 1e20:
            return first > 0 ? .orderedDescending : .orderedAscending
        default:
            guard let first = decimal(left), let second = decimal(right) else { return nil }
            return compare(first, second)
        }
    }

    /// The text without what does not count.
    static func folded(_ text: String, _ options: Query.TextOptions) -> String {
        var text = text
        if options.contains(.diacriticInsensitive) { text = withoutMarks(text) }
        if options.contains(.caseInsensitive) {
            text = text.split(separator: "ı", omittingEmptySubsequences: false)
                .map { $0.uppercased().lowercased() }
                .joined(separator: "ı")
        }
        return options.contains(.diacriticInsensitive) ? withoutMarks(text) : text
    }

    private static func withoutMarks(_ text: String) -> String {
        var result = ""
        for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
        where scalar.properties.generalCategory != .nonspacingMark {
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    // MARK: Words

    static func words(_ text: String) -> Set<String> {
        let symbols: Set<Unicode.Scalar> = ["$", "+", "<", "=", ">", "^", "`", "|", "~"]
        func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
            if symbols.contains(scalar) { return false }
            let cut = CharacterSet.punctuationCharacters.union(.controlCharacters)
            return cut.contains(scalar)
        }
        var words: Set<String> = []
        let pieces = text.unicodeScalars.split { $0.properties.isWhitespace }
        for piece in pieces {
            guard let first = piece.firstIndex(where: { !isTrimmed($0) }),
                let last = piece.lastIndex(where: { !isTrimmed($0) })
            else { continue }
            let word = folded(String(String.UnicodeScalarView(piece[first...last])), .all)
            words.insert(word)
        }
        return words
    }

    private func matches(_ search: Query.WordSearch, _ record: Record) -> Bool {
        let stopWords = Set(
            """
            a an and are as at be but by for if in into is it no not of on or such that the their \
            then there these they this to was will with
            """.split(separator: " ").map(String.init)
        )
        let wanted = Self.words(search.text).subtracting(stopWords)
        guard !wanted.isEmpty else { return false }
        var found: Set<String> = []
        let keys: [Query.Key] =
            search.key.map { [$0] } ?? record.fields.map { .field(Name($0.name)) }
        for key in keys {
            switch value(of: key, in: record) {
            case .string(let text)?: found.formUnion(Self.words(text))
            case .stringList(let texts)?: for text in texts { found.formUnion(Self.words(text)) }
            default: break
            }
        }
        return search.requiresAll ? wanted.isSubset(of: found) : !wanted.isDisjoint(with: found)
    }

    // MARK: Places

    /// The angle between two vectors, times the radius.
    static func distance(_ first: Location, _ second: Location) -> Double {
        func vector(_ place: Location) -> (Double, Double, Double) {
            let latitude = place.latitude * .pi / 180
            let longitude = place.longitude * .pi / 180
            return (cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
        }
        let (x, y, z) = vector(first)
        let (u, v, w) = vector(second)
        let cross = (y * w - z * v, z * u - x * w, x * v - y * u)
        let length = (cross.0 * cross.0 + cross.1 * cross.1 + cross.2 * cross.2).squareRoot()
        return 6_371_008.8 * atan2(length, x * u + y * v + z * w)
    }
}

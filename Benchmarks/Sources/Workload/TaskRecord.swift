// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A small record of an app, for queries: two texts, numbers and a date, about 120 bytes.
public struct TaskRecord: Sendable {
    /// Unique: what the record is called.
    public let name: String
    /// Three words.
    public let title: String
    /// Eight words.
    public let note: String
    /// One of so many values that about a hundred records share each.
    public let shelf: Int64
    /// Two digits behind the point.
    public let price: Double
    /// Milliseconds since 1970, some time in a year.
    public let due: Int64
    /// 0 or 1.
    public let done: Int64

    /// The record with a number, in one of its versions, of a collection of a size.
    public init(_ number: Int, version: Int = 0, of count: Int) {
        var random = SplitMix(seed: UInt64(number) &* 1_000_003 &+ UInt64(version))
        name = "task-\(number)"
        title = Self.words(3, &random)
        note = Self.words(8, &random)
        shelf = Int64(random.next() % UInt64(Self.shelfCount(of: count)))
        price = Double(random.next() % 100_000) / 100
        due = 1_700_000_000_000 + Int64(random.next() % 31_536_000_000)
        done = Int64(random.next() % 2)
    }

    /// How many shelves a collection of a size has.
    public static func shelfCount(of count: Int) -> Int { max(1, count / 100) }

    private static func words(_ count: Int, _ random: inout SplitMix) -> String {
        (0..<count).map { _ in "w\(String(random.next() % 5_000, radix: 36))" }
            .joined(separator: " ")
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One version of one record: all that determines its name and its bytes.
public struct Change: Hashable, Sendable {
    /// The zone, counted from 0.
    public var zone: UInt32
    /// The record within its zone, counted from 0.
    public var number: UInt32
    /// 0 for the insert, one more with every update.
    public var version: UInt32

    /// Describes one version of one record.
    public init(zone: Int, number: Int, version: Int = 0) {
        self.zone = UInt32(zone)
        self.number = UInt32(number)
        self.version = UInt32(version)
    }
}

/// Changes that are saved as one commit.
public struct Batch: Sendable {
    /// In the order in which they are saved; no record twice.
    public var changes: [Change]
    /// Whether every record is new; otherwise every record exists.
    public var isInsert: Bool

    /// Describes one commit.
    public init(_ changes: [Change], isInsert: Bool) {
        self.changes = changes
        self.isInsert = isInsert
    }
}

/// A page as the real history has them: what one record holds.
public struct Page: Hashable, Sendable {
    /// The command the page is about.
    public var title: [UInt8] = []
    /// The systems it is for.
    public var folder: [UInt8] = []
    /// The page in Markdown: nearly all of the record.
    public var text: [UInt8] = []
    /// Lines in the text.
    public var lineCount: Int64 = 0

    /// An empty page, to be filled.
    public init() {}

    /// A page of these parts.
    public init(title: [UInt8], folder: [UInt8], text: [UInt8], lineCount: Int64) {
        self.title = title
        self.folder = folder
        self.text = text
        self.lineCount = lineCount
    }
}

/// The record's name, 17 bytes on average, in an order that has nothing to do with its number.
extension Change {
    /// The folder part of the name and of the page.
    public var folder: StaticString {
        // Most pages of the real history are in `common`, many in `linux`.
        switch SplitMix.mix(UInt64(number) &* 3 &+ 1) % 10 {
        case 0...5: "common"
        case 6...7: "linux"
        case 8: "windows"
        default: "osx"
        }
    }

    /// Appends the title: letters that stand for the number, one to one.
    public func appendTitle(to bytes: inout [UInt8]) {
        // Multiplying by an odd number permutes 32 bits; 26^7 is more than 2^32.
        var rest = (number ^ 0x5BD1_E995) &* 0x9E37_79B1
        for _ in 0..<7 {
            bytes.append(UInt8(ascii: "a") + UInt8(rest % 26))
            rest /= 26
        }
    }

    /// Appends the record's name.
    public func appendName(to bytes: inout [UInt8]) {
        folder.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "/"))
        appendTitle(to: &bytes)
        bytes.append(contentsOf: ".md".utf8)
    }

    /// The record's name.
    public var name: String {
        var bytes: [UInt8] = []
        appendName(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The state of a client's fetches: opaque to clients, made and read by the engine alone.
///
/// It prints as `t.` and base64url without padding, and is parsed from that text.
public struct ChangeToken: Hashable, Sendable {
    /// The content, which only the engine reads.
    package let bytes: [UInt8]

    /// Wraps content that the engine made.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a printed token; `nil` if the text does not have the form of a token.
    ///
    /// Only a store can tell if the token is valid for it.
    public init?(_ text: String) {
        guard text.utf8.starts(with: "t.".utf8),
            let decoded = Base64.bytes(ofURLText: text.utf8.dropFirst(2))
        else { return nil }
        bytes = decoded
    }
}

extension ChangeToken: CustomStringConvertible {
    /// `t.` and the token's bytes in base64url without padding.
    public var description: String {
        var text: [UInt8] = Array("t.".utf8)
        bytes.withUnsafeBufferPointer { Base64.encode($0, .urlWithoutPadding, into: &text) }
        return String(decoding: text, as: UTF8.self)
    }
}

/// A record's version as clients see it: opaque text, created and read by the engine only.
public struct RecordChangeTag: Hashable, Sendable {
    /// Two tags are equal if their texts are: each text has one content, since numbers are written
    /// in one form.
    private enum Content: Hashable {
        case version(sequence: UInt64, incarnationBits: UInt32)
        /// A text that no store made.
        case other(Name)
    }

    private let content: Content

    /// Creates a tag from its text, without checking that a store made it.
    public init(_ text: String) {
        let name = Name(text)
        content = name.withBytes(Self.version(in:)) ?? .other(name)
    }

    /// Creates the tag of a version.
    ///
    /// It has the position of the event that made the version, and the low half of the incarnation
    /// that wrote the event. Its text is made when it is asked for.
    package init(sequence: UInt64, incarnationBits: UInt32) {
        content = .version(sequence: sequence, incarnationBits: incarnationBits)
    }

    /// Reads the text of a version; `nil` for any other text.
    private static func version(in utf8: UnsafeBufferPointer<UInt8>) -> Content? {
        var digits = Base36Reader(utf8: utf8)
        guard let sequence = digits.next(before: UInt8(ascii: "-")),
            let bits = digits.next(before: nil), let bits = UInt32(exactly: bits)
        else { return nil }
        return .version(sequence: sequence, incarnationBits: bits)
    }

    /// The position and the low half of the incarnation; `nil` if no store made the tag.
    package var version: (sequence: UInt64, incarnationBits: UInt32)? {
        guard case .version(let sequence, let incarnationBits) = content else { return nil }
        return (sequence, incarnationBits)
    }

    /// The tag as text: of a version, both numbers in base 36 with a hyphen between them.
    public var text: String {
        switch content {
        case .other(let name): name.string
        case .version(let sequence, let incarnationBits): Base36.text(of: sequence, incarnationBits)
        }
    }
}

extension RecordChangeTag: CustomStringConvertible {
    /// The tag as text.
    public var description: String { text }
}

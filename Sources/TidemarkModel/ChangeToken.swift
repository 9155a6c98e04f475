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
        guard text.utf8.starts(with: "t.".utf8) else { return nil }
        var decoded: [UInt8] = []
        guard Base64.decode(text.utf8.dropFirst(2), .urlWithoutPadding, into: &decoded) else {
            return nil
        }
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
    package let name: Name

    /// Creates a tag from its text, without checking that a store made it.
    public init(_ text: String) {
        name = Name(text)
    }

    /// Creates the tag of a version.
    ///
    /// It has the position of the event that made the version, and the low half of the incarnation
    /// that wrote the event, in base 36 with a hyphen between them. The text is usually short
    /// enough (15 bytes) to need no allocation.
    package init(sequence: UInt64, incarnationBits: UInt32) {
        let split = Base36.digitCount(of: sequence)
        let end = split + 1 + Base36.digitCount(of: UInt64(incarnationBits))
        let text = String(unsafeUninitializedCapacity: end) { buffer in
            Base36.write(sequence, to: buffer, endingAt: split)
            buffer[split] = UInt8(ascii: "-")
            Base36.write(UInt64(incarnationBits), to: buffer, endingAt: end)
            return end
        }
        self.init(text)
    }

    /// The tag as text.
    public var text: String { name.string }
}

extension RecordChangeTag: CustomStringConvertible {
    /// The tag as text.
    public var description: String { text }
}

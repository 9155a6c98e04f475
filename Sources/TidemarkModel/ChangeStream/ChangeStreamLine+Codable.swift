// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension ChangeStreamLine: CodedAsText {
    var codedText: String {
        var bytes: [UInt8] = []
        bytes.append(json: self)
        // The line feed ends the line in a stream and is not part of the coded text.
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }

    init?(_ codedText: String) {
        var reader = ChangeStreamReader()
        guard let line = try? reader.read(Array(codedText.utf8)[...]) else { return nil }
        self = line
    }

    /// Reads the line of JSON.
    public init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

    /// Writes the line of JSON, without its end.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

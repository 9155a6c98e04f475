// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Schema: CodedAsText {
    var codedText: String { text }

    init?(_ codedText: String) {
        guard let file = try? SchemaFile(codedText) else { return nil }
        self = file.schema
    }

    /// Reads the text of a `.ckdb` file.
    public init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

    /// Writes the text of a `.ckdb` file.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

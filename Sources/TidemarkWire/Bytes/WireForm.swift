// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A form in which requests and answers are written as bytes.
public enum WireForm: String, CaseIterable, Sendable {
    /// JSON, which every method has.
    case json = "application/json"
    /// Records as their bytes (Docs/formats/wire.md), which the methods have that carry many of them.
    case records = "application/vnd.tidemark.records"

    /// The form's media type.
    public var mediaType: String { rawValue }

    /// Reads a media type, parameters aside; `nil` for that of no form.
    public init?(mediaType: String) {
        let type = mediaType.split(separator: ";", maxSplits: 1).first ?? ""
        self.init(rawValue: type.filter { $0 != " " }.lowercased())
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Something that is wrong with a schema, or with a change of one.
public struct SchemaProblem: Error, Hashable, Sendable {
    /// How bad it is.
    public enum Severity: Hashable, Sendable {
        /// The schema or change is refused.
        case error
        /// It is accepted, and something will not be as it looks.
        case warning
    }

    /// How bad it is.
    public let severity: Severity
    /// What has the problem.
    public let place: Schema.Place
    /// What is wrong, as a sentence.
    public let message: String
    /// What to do about it, as a sentence.
    public let remedy: String

    /// Describes a problem.
    init(_ severity: Severity, _ place: Schema.Place, _ message: String, _ remedy: String) {
        self.severity = severity
        self.place = place
        self.message = message
        self.remedy = remedy
    }
}

extension SchemaProblem: CustomStringConvertible {
    /// How bad it is, what is wrong, what to do.
    public var description: String { "\(severity): \(message) \(remedy)" }
}

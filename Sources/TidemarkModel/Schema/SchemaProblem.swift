// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Something that is wrong with a schema, or with a change of one.
public struct SchemaProblem: Error, Hashable, Sendable {
    /// The severity of a problem.
    public enum Severity: Hashable, Sendable {
        /// The schema or change is refused.
        case error
        /// It is accepted, and something will not be as it looks.
        case warning
    }

    /// The severity: error or warning.
    public let severity: Severity
    /// The part of the schema that has the problem.
    public let place: Schema.Place
    /// The cause, as a sentence.
    public let message: String
    /// The remedy, as a sentence.
    public let remedy: String

    /// Creates a problem.
    init(_ severity: Severity, _ place: Schema.Place, _ message: String, _ remedy: String) {
        self.severity = severity
        self.place = place
        self.message = message
        self.remedy = remedy
    }
}

extension SchemaProblem: CustomStringConvertible {
    /// The severity, the cause and the remedy.
    public var description: String { "\(severity): \(message) \(remedy)" }
}

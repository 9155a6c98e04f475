// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The optional parts at the end of a commit envelope, each with a tag.
///
/// A version that does not know a tag skips its part, and keeps the part when it rewrites the
/// envelope.
package struct EnvelopeExtras: Hashable, Sendable {
    /// The place of the request in a distributed trace.
    package var trace: TraceContext?
    /// The user's authentication; `nil` if the program that opened the store named the user, or if
    /// this version does not know the kind.
    package var authentication: Authentication?
    /// Parts whose tags this version does not know.
    private var unknown: [Part] = []

    private struct Part: Hashable, Sendable {
        var tag: UInt64
        var content: [UInt8]
    }

    /// Tags are on disk: never renumber them.
    private enum Tag {
        static let trace: UInt64 = 1
        static let authentication: UInt64 = 2
    }

    package init() {}

    /// Creates the optional parts for a commit, from those of its caller.
    package init(trace: TraceContext?, authentication: Authentication) {
        self.trace = trace
        // A missing part means that the program named the user (`Docs/formats/events.md`).
        switch authentication {
        case .inProcess: self.authentication = nil
        case let known: self.authentication = known
        }
    }
}

// MARK: - Bytes

extension EnvelopeExtras {
    private static let traceByteCount = 25

    /// Reads parts up to the end of a span; their tags ascend.
    init(_ span: RawSpan) throws(EventFormatError) {
        var offset = 0
        // Tags begin at 1: a tag of 0 does not ascend from this value and is rejected.
        var last: UInt64 = 0
        while offset < span.byteCount {
            guard let tag = span.variableInteger(at: &offset),
                let range = span.countedRange(at: &offset)
            else { throw CommitEnvelope.cutOff }
            // Each tag occurs at most once, and rewriting an envelope gives the same bytes again.
            guard tag > last else {
                throw EventFormatError(
                    "The tags at the end of a commit envelope must ascend; \(tag) follows \(last)."
                )
            }
            last = tag
            try read(tag, span.extracting(range))
        }
    }

    private mutating func read(_ tag: UInt64, _ content: RawSpan) throws(EventFormatError) {
        switch tag {
        // A trace of another length takes the last case: it is kept as bytes and written again.
        case Tag.trace where content.byteCount == Self.traceByteCount:
            trace = TraceContext(
                traceHigh: content.integer(at: 0),
                traceLow: content.integer(at: 8),
                parent: content.integer(at: 16),
                flags: content.byte(at: 24)
            )
        case Tag.authentication:
            // An unknown kind of credential is kept like an unknown part, not dropped.
            guard let known = try Authentication(content) else { fallthrough }
            authentication = known
        default:
            unknown.append(Part(tag: tag, content: content.withUnsafeBytes { Array($0) }))
        }
    }

    /// Appends the parts, ordered by tag.
    func append(to bytes: inout [UInt8]) {
        var parts = unknown
        if let trace {
            var content: [UInt8] = []
            content.append(integer: trace.traceHigh)
            content.append(integer: trace.traceLow)
            content.append(integer: trace.parent)
            content.append(trace.flags)
            parts.append(Part(tag: Tag.trace, content: content))
        }
        if let content = authentication?.extraBytes {
            parts.append(Part(tag: Tag.authentication, content: content))
        }
        // Sorted together: an unknown tag can be lower than a known one, and readers reject tags
        // that do not ascend.
        if parts.count > 1 { parts.sort { $0.tag < $1.tag } }
        for part in parts {
            bytes.append(variableInteger: part.tag)
            bytes.append(variableInteger: UInt64(part.content.count))
            bytes.append(contentsOf: part.content)
        }
    }
}

extension Authentication {
    /// Reads a kind and the id of a credential as UTF-8; `nil` for a kind that this version does
    /// not know.
    fileprivate init?(_ content: RawSpan) throws(EventFormatError) {
        guard content.byteCount > 0 else { throw CommitEnvelope.cutOff }
        guard let text = content.extracting(1..<content.byteCount).text else {
            throw EventFormatError("The id of a credential in a commit envelope is not UTF-8.")
        }
        switch content.byte(at: 0) {
        case 1: self = .session(id: text)
        case 2: self = .serverKey(id: text)
        case 3: self = .identityProvider(issuer: text)
        case 4: self = .administrator(id: text)
        default: return nil
        }
    }

    /// The bytes that ``init(_:)`` reads; `nil` for a user that the program named.
    fileprivate var extraBytes: [UInt8]? {
        switch self {
        case .inProcess: nil
        case .session(let id): [1] + id.utf8
        case .serverKey(let id): [2] + id.utf8
        case .identityProvider(let issuer): [3] + issuer.utf8
        case .administrator(let id): [4] + id.utf8
        }
    }

    /// The kind of credential and its id, as printed by `log dump`.
    package var text: String {
        switch self {
        case .inProcess: "in process"
        case .session(let id): "session \(id)"
        case .serverKey(let id): "server key \(id)"
        case .identityProvider(let issuer): "identity provider \(issuer)"
        case .administrator(let id): "administrator \(id)"
        }
    }
}

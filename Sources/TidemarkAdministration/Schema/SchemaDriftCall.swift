// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkLog
public import TidemarkModel

/// Requests the uses of the schema in development that production would reject, by build.
public struct SchemaDriftCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "schema-drift"

    /// The container.
    public var container: ContainerID
    /// The first event that counts.
    public var first: SequenceNumber

    /// Describes the call.
    public init(of container: ContainerID, since first: SequenceNumber) {
        self.container = container
        self.first = first
    }

    /// Something that production lacks, and how often a build met it.
    public struct Entry: Codable, Hashable, Sendable {
        /// The build; `nil` for clients that do not state it.
        public var build: String?
        /// The missing part of the schema, in words.
        public var missing: String
        /// The number of times that it was met.
        public var count: Int
        /// The time when it was first met, in milliseconds since 1970.
        public var firstSeen: Int64
        /// The time when it was last met, in milliseconds since 1970.
        public var lastSeen: Int64
        /// The remedy for the gap.
        public var remedy: String
    }

    /// The answer.
    public struct Answer: Codable, Hashable, Sendable {
        /// The missing parts, by build.
        public var entries: [Entry]
        /// The number of occurrences that are not listed because there are too many.
        public var uncounted: Int
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Answer {
        let store = try administration.store
        let drift = try store.schemaDrift(of: container, since: first)
        // Read after the drift: a field that was added in between is then reported as ready for a
        // promotion.
        let development = try store.schema(of: container)
        let entries = drift.byBuild.flatMap(\.entries).map { entry in
            Entry(
                build: entry.build?.string,
                missing: "\(entry.gap)",
                count: entry.count,
                firstSeen: entry.firstSeen,
                lastSeen: entry.lastSeen,
                remedy: entry.gap.remedy(development)
            )
        }
        return Answer(entries: entries, uncounted: drift.uncounted)
    }
}

extension SchemaDrift.Gap {
    /// Returns the remedy for the gap.
    fileprivate func remedy(_ development: Schema) -> String {
        switch self {
        // A field keeps its type, so no promotion closes this gap.
        case .type: "use another field"
        case _ where isClosed(in: development): "promote"
        default: "add it to development"
        }
    }
}

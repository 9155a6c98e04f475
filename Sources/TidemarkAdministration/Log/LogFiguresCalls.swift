// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
public import Tidemark
public import TidemarkLog
import TidemarkModel

/// Requests the segments of the log.
package struct SegmentsCall: SingleAnswerCall {
    package static let name = "log-ls"

    package init() {}

    package struct Answer: Codable, Sendable {
        package var segments: [SegmentFigures]
        package var damage: [LogError]
        package var tornByteCount: UInt64
    }

    package func answer(from administration: StoreAdministration) async throws -> Answer {
        let reader = try administration.openLog()
        let segments = try reader.figures().segments
        return Answer(
            segments: segments,
            damage: reader.damage,
            tornByteCount: reader.tornByteCount
        )
    }
}

/// Requests the contents and the size of a store, in numbers.
public struct StatisticsCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "log-stat"

    /// Describes the call.
    public init() {}

    /// The figures.
    public struct Answer: Codable, Sendable {
        /// Events of the log.
        public var eventCount: UInt64 = 0
        /// Its commits.
        public var commitCount: UInt64 = 0
        /// Its segments.
        public var segmentCount = 0
        /// Its bytes, without space that is allocated ahead.
        public var byteCount: UInt64 = 0
        /// Bytes that are allocated ahead.
        public var spareByteCount: UInt64 = 0
        /// Bytes of the views, which could be computed again.
        public var viewByteCount: UInt64 = 0
        /// Bytes of commits and events before compression.
        public var rawByteCount: UInt64 = 0
        /// Records that live; `nil` where damage keeps them from being counted.
        public var liveRecordCount: Int64?
        /// Deletions that are remembered.
        public var tombstoneCount: Int64?
        /// The first event; zero for an empty log.
        public var firstSequence = SequenceNumber.zero
        /// The last event.
        public var lastSequence = SequenceNumber.zero
        /// The journal.
        public var journal = JournalStanding()
        /// The time by which the machine's clock is behind the last commit.
        public var clockLag = Duration.zero
        /// The damage on disk.
        public var damage: [LogError] = []
        /// Bytes of a write that was cut short before it was acknowledged: no damage.
        public var tornByteCount: UInt64 = 0
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Answer {
        let path = administration.path
        let reader = try administration.openLog()
        let log = try reader.figures()
        var answer = Answer()
        answer.eventCount = log.eventCount
        answer.commitCount = log.commitCount
        answer.segmentCount = log.segments.count
        answer.byteCount = log.byteCount
        answer.spareByteCount = log.spareByteCount
        answer.rawByteCount = log.rawByteCount
        answer.viewByteCount = Self.byteCount(ofFolder: reader.viewsPath)
        // A segment has a first position before it has events. Of an empty log, this would name an
        // event that does not exist.
        answer.firstSequence = log.eventCount == 0 ? .zero : log.segments.first?.id.first ?? .zero
        // Of a log that is damaged where a zone begins, records cannot be counted.
        let isSound = reader.damage.isEmpty
        do {
            try count(administration, into: &answer)
        } catch {
            if isSound { throw error }
        }
        answer.lastSequence = reader.durableSequence
        answer.journal = JournalStanding(of: path, reader.store)
        answer.damage = reader.damage
        answer.tornByteCount = reader.tornByteCount
        return answer
    }

    private func count(_ administration: StoreAdministration, into answer: inout Answer) throws {
        let store =
            try administration.openStore ?? Store.open(at: administration.path, access: .reading)
        // Only a store that was opened here. Others use the one of a server.
        defer { if administration.openStore == nil { try? store.close() } }
        answer.clockLag = store.clockLag
        let figures = try store.figures()
        answer.liveRecordCount = figures.liveRecordCount
        answer.tombstoneCount = figures.tombstoneCount
    }

    private static func byteCount(ofFolder path: String) -> UInt64 {
        // Views are a cache. A store without their folder has 0 bytes of them, which is no error.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.reduce(0) { sum, name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
            return sum + UInt64((attributes?[.size] as? Int) ?? 0)
        }
    }
}

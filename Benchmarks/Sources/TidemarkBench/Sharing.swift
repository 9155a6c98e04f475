// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import TidemarkModel
import Workload

/// What a participant's fetches cost beside the owner's of the same records.
final class Sharing<Engine: Contender>: Trial {
    private let tree: SharedTree?
    private let recordCount: Int
    private var ownerToken: ChangeToken?
    private var guestToken: ChangeToken?

    init(_ setting: Setting) async throws {
        recordCount = min(10_000, setting.scale.zoneRecordCount)
        tree =
            Engine.name == "tidemark"
            ? try await SharedTree(setting.folder, recordCount: recordCount) : nil
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        guard let tree else { return [:] }
        var results: [String: Double] = [:]
        var count = 0
        let guest = try await time {
            (count, guestToken) = try await tree.fetch(asGuest: true, since: nil)
        }
        guard count == recordCount + 2 else { throw WrongAnswer("the guest got \(count) records") }
        let owner = try await time {
            (count, ownerToken) = try await tree.fetch(asGuest: false, since: nil)
        }
        // The owner's zone has as much again beside what is shared.
        results[Name.shareFirstSync] = guest / owner * Double(count) / Double(recordCount + 2)
        try await tree.change(repetition + 1)
        let ownerDelta = try await time {
            (count, ownerToken) = try await tree.fetch(asGuest: false, since: ownerToken)
        }
        let guestDelta = try await time {
            (count, guestToken) = try await tree.fetch(asGuest: true, since: guestToken)
        }
        guard count == min(100, recordCount) else {
            throw WrongAnswer("the guest's delta has \(count) records")
        }
        results[Name.shareDelta] = guestDelta / ownerDelta
        return results
    }

    private func time(_ work: () async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        try await work()
        return start.microsecondsUntilNow
    }

    func end() async throws { try tree?.close() }
}

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
        (ownerToken, guestToken) = (nil, nil)
        let first = try await fetch(from: tree, guestFirst: repetition % 2 == 0)
        guard first.guest.count == recordCount + 2 else {
            throw WrongAnswer("the guest got \(first.guest.count) records")
        }
        // The owner's zone has as much again beside what is shared.
        let share = Double(recordCount + 2) / Double(first.owner.count)
        results[Name.shareFirstSync] = first.guest.time / (first.owner.time * share)
        try await tree.change(repetition + 1)
        let delta = try await fetch(from: tree, guestFirst: repetition % 2 == 1)
        guard delta.guest.count == min(100, recordCount), delta.owner.count == delta.guest.count
        else {
            throw WrongAnswer(
                "the guest's delta has \(delta.guest.count) records, the owner's \(delta.owner.count)"
            )
        }
        results[Name.shareDelta] = delta.guest.time / delta.owner.time
        return results
    }

    /// The number of records that one of them fetched after its token, and the microseconds that it took.
    private typealias Fetched = (count: Int, time: Double)

    /// Fetches for both, one after the other: the second finds warm caches.
    private func fetch(
        from tree: SharedTree,
        guestFirst: Bool
    ) async throws -> (guest: Fetched, owner: Fetched) {
        var found: [Bool: Fetched] = [:]
        for isGuest in [guestFirst, !guestFirst] {
            let start = ContinuousClock.now
            let (count, token) = try await tree.fetch(
                asGuest: isGuest,
                since: isGuest ? guestToken : ownerToken
            )
            found[isGuest] = (count, start.microsecondsUntilNow)
            if isGuest { guestToken = token } else { ownerToken = token }
        }
        guard let guest = found[true], let owner = found[false] else {
            throw WrongAnswer("somebody fetched nothing")
        }
        return (guest, owner)
    }

    func end() async throws { try tree?.close() }
}

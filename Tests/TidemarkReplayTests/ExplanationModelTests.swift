// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GeneratedQueries
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

/// Devices that fetch now and then, and whether the explanation agrees with what they hold.
@Suite struct ExplanationModelTests {
    /// A device, and what it was told.
    private struct Device {
        var user: String
        var name: String
        var token: ChangeToken?
        var held: [String: RecordChangeTag] = [:]
        var deleted: [String: RecordChangeTag] = [:]
    }

    private struct World {
        let store: JournalledStore
        var random: SeededGenerator
        var devices = [
            Device(user: "anna", name: "phone"), Device(user: "anna", name: "laptop"),
            Device(user: "bob", name: "tablet"), Device(user: "carol", name: "watch"),
        ]
        var members: Set<String> = []
        var names = (0..<8).map { "r\($0)" }

        mutating func pick<Element>(_ elements: [Element]) throws -> Element {
            try #require(elements.randomElement(using: &random))
        }

        mutating func step(_ number: Int) async throws {
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3:
                let name = try pick(names)
                let parent = try pick([nil, "root 1", "root 2", "keep"])
                let save = RecordSave(
                    store.id(name),
                    type: "Note",
                    fields: try Fields(["n": .int64(Int64(number))]),
                    parent: parent.map { .set(Name($0)) } ?? .removed,
                    policy: .changedKeys
                )
                _ = try await store.modify([parent == "keep" ? store.save(name) : save])
                    .saves[0].get()
            case 4:
                _ = try await store.modify([], delete: [try pick(names)])
            case 5:
                let user = try pick(["bob", "carol"])
                let share = try pick(["share 1", "share 2"])
                if members.remove("\(user) \(share)") != nil {
                    let deletion = RecordDeletion(
                        RecordID(recordName: share, zone: store.zone(for: user))
                    )
                    _ = try await store.store.modifyRecords(
                        ModifyRecordsRequest(deletions: [deletion]),
                        as: store.caller(user)
                    ).deletions[0].get()
                } else {
                    // Whoever left has to be invited again.
                    let root = share == "share 1" ? "root 1" : "root 2"
                    let users = ["bob", "carol"].filter { $0 == user || isMember($0, share) }
                    _ = try await store.modify([
                        store.share(share, of: root, with: users.map { ($0, .readOnly) })
                    ]).saves[0].get()
                    try await store.accept(share, as: user)
                    members.insert("\(user) \(share)")
                }
            default:
                try await fetch(Int.random(in: devices.indices, using: &random))
            }
        }

        private func isMember(_ user: String, _ share: String) -> Bool {
            members.contains("\(user) \(share)")
        }

        private mutating func fetch(_ index: Int) async throws {
            var device = devices[index]
            if Int.random(in: 0..<12, using: &random) == 0 { device.token = nil }
            let request = ZoneChangesRequest(
                zone: store.zone(for: device.user),
                since: device.token,
                limit: Int.random(in: 1...6, using: &random)
            )
            do throws(SyncError) {
                let page = try await store.store.zoneChanges(
                    request,
                    as: store.caller(device.user, on: device.name)
                )
                for change in page.changes {
                    switch change {
                    case .changed(let record):
                        device.held[record.recordID.recordName] = record.changeTag
                    case .deleted(let record):
                        device.held[record.recordID.recordName] = nil
                        device.deleted[record.recordID.recordName] = record.changeTag
                    }
                }
                device.token = page.token
            } catch {
                // The zone is not shared with the user at the moment, and goes.
                guard error.code == .zoneNotFound else { throw error }
                device.held = [:]
                device.token = nil
            }
            devices[index] = device
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func `A version is delivered if and only if devices hold it`(seed: UInt64) async throws {
        let store = try await JournalledStore()
        try await store.modify([
            store.save("root 1"), store.save("root 2"),
            store.share("share 1", of: "root 1", with: []),
            store.share("share 2", of: "root 2", with: []),
        ])
        var world = World(store: store, random: SeededGenerator(seed: seed))
        var counts: [String: Int] = [:]
        for number in 0..<120 {
            try await world.step(number)
            if number % 6 != 0 { continue }
            for device in world.devices {
                for name in world.names + ["root 1"] {
                    let why = try await store.why(name, from: device.name, of: device.user)
                    guard let version = why.version, let cause = why.names.first else { continue }
                    counts[cause, default: 0] += 1
                    let isDelivered = cause == "delivered" || cause == "acknowledged"
                    let comment: Comment =
                        "\(seed), step \(number), \(name) on \(device): \(why.names)"
                    if let tag = version.record?.changeTag {
                        if cause == "hidden" {
                            #expect(device.user != "anna", comment)
                        } else {
                            #expect(isDelivered == (device.held[name] == tag), comment)
                        }
                    } else if device.user == "anna", isDelivered {
                        #expect(device.held[name] == nil && device.deleted[name] != nil, comment)
                    }
                }
            }
        }
        for cause in ["acknowledged", "delivered", "committedAfterToken", "hidden"] {
            #expect(counts[cause, default: 0] > 0, "\(counts)")
        }
    }
}

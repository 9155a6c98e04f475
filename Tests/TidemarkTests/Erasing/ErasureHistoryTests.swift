// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Generated histories of several users and devices, and then somebody or something is erased.
@Suite struct ErasureHistoryTests {
    /// A device with the tokens that it was given at some step, perhaps in the midst of a listing.
    private struct Device {
        var user: String
        var place: ContainerHistory.Place
        var step: Int
        var held: SharedDevice
    }

    private static func subject(_ seed: UInt64) -> (ErasureSubject, word: String?) {
        switch seed % 3 {
        case 0: (.user(UserID("_dan")), "_dan")
        case 1: (.user(UserID("_bob")), "_bob")
        default:
            (.zone(ZoneID(zoneName: "a"), in: DatabaseID(owner: UserID("_anna"))), nil)
        }
    }

    @Test(arguments: 1...(runsLongTests ? 120 : 4) as ClosedRange<UInt64>)
    func `Every device converges after an erasure, whatever it had`(seed: UInt64) async throws {
        var history = try ContainerHistory(seed: 7_000 + seed, compacts: seed % 2 == 0)
        try await history.begin()
        var devices: [Device] = []
        while history.step < 160 {
            try await history.advance()
            guard history.step % 16 == 0 else { continue }
            for place in ContainerHistory.places {
                for user in ContainerHistory.users {
                    var held = SharedDevice(history.client(user, place))
                    _ = try await held.sync(limit: 3, pageCount: history.step % 32 == 0 ? 2 : .max)
                    devices.append(Device(user: user, place: place, step: history.step, held: held))
                }
            }
        }
        let (subject, word) = Self.subject(seed)
        let before = try await views(history)
        let options = ContainerHistory.options(compacts: history.compacts)
        try history.store.close()
        let path = history.folder.path()
        let receipt = try Store.erase(subject, at: path, options: options)
        #expect(receipt.removedCount > 0, "seed \(seed)")
        if let word {
            let search = StoreSearch(path: path, fileSystem: PosixFileSystem())
            #expect(try search.places(of: word) == [], "seed \(seed)")
        }
        history.store = try Store.open(at: path, options: options)
        let after = try await views(history)
        for (view, records) in before where !isAffected(view, subject) {
            #expect(after[view] == records, "seed \(seed): \(view)")
        }
        try await check(devices, history, "seed \(seed)")
        // Whoever comes back under the name is let in once more.
        #expect(try await shareAnew(history) > 0, "seed \(seed)")
        try await check(devices, history, "seed \(seed), shared anew")
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        #expect(try reader.verify().damage.isEmpty)
        try history.store.close()
    }

    private struct View: Hashable {
        var user: String
        var place: ContainerHistory.Place
    }

    /// What everybody sees, by tags, from the beginning.
    private func views(
        _ history: ContainerHistory
    ) async throws -> [View: [String: RecordChangeTag]] {
        var views: [View: [String: RecordChangeTag]] = [:]
        for place in ContainerHistory.places {
            for user in ContainerHistory.users {
                var device = SharedDevice(history.client(user, place))
                _ = try await device.sync(limit: 5)
                views[View(user: user, place: place)] = device.records
            }
        }
        return views
    }

    private func isAffected(_ view: View, _ subject: ErasureSubject) -> Bool {
        if let name = subject.user?.userRecordName {
            return view.user == name || view.place.owner == name
        }
        return view.place.owner == "_anna" && view.place.zone == "a"
    }

    private func check(
        _ devices: [Device],
        _ history: ContainerHistory,
        _ text: String
    ) async throws {
        let fresh = try await views(history)
        for device in devices {
            var held = device.held
            held.client = history.client(device.user, device.place)
            _ = try await held.sync(limit: 4)
            #expect(
                held.records == fresh[View(user: device.user, place: device.place)],
                "\(text): \(device.user) in \(device.place), from step \(device.step)"
            )
        }
    }

    /// Shares a new record of each place with everybody else; returns the number of shares.
    ///
    /// A place that is shared as a whole takes no other share.
    private func shareAnew(_ history: ContainerHistory) async throws -> Int {
        var count = 0
        for place in ContainerHistory.places {
            let owner = history.client(place.owner, place)
            try await owner.createZone()
            let others = ContainerHistory.users.filter { $0 != place.owner }
            _ = try await owner.modify([try owner.node("anew")]).saves[0].get()
            let users = others.map { (String($0.dropFirst()), SharePermission.readOnly) }
            let share = try owner.share("anew-share", of: "anew", with: users)
            guard try await owner.modify([share]).saves[0].error == nil else { continue }
            count += 1
            let link = history.store.url(of: try await owner.shared("anew-share"))
            for user in others {
                _ = try await history.store.acceptShare(
                    link,
                    as: history.client(user, place).caller
                )
            }
        }
        return count
    }
}

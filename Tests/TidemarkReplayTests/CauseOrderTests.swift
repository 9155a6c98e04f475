// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

/// The causes in the order in which an explanation names them.
enum Link: String, CaseIterable {
    case hidden, refused, neverSaved, fetchRefused, delivered, superseded, beganAfterDeletion
    case unknown, committedAfterToken, neverAsked

    /// Tells whether two causes cannot hold at the same time; the second one is later in the order.
    static func exclude(_ first: Link, _ second: Link) -> Bool {
        switch (first, second) {
        // There is no version that could be hidden or told.
        case (.hidden, .neverSaved), (.neverSaved, .delivered), (.neverSaved, .superseded),
            (.neverSaved, .beganAfterDeletion), (.neverSaved, .committedAfterToken):
            true
        // The refusals that count are those since the newest version; superseded is an earlier one.
        case (.refused, .superseded): true
        // A device that was answered or refused has asked.
        case (.fetchRefused, .neverAsked), (.delivered, .neverAsked), (.superseded, .neverAsked),
            (.beganAfterDeletion, .neverAsked), (.committedAfterToken, .neverAsked):
            true
        default: false
        }
    }

    /// Tells whether an explanation that names one cause first names a later one too.
    static func isNamed(_ second: Link, behind first: Link) -> Bool {
        switch first {
        case .hidden: second == .refused
        case .refused, .fetchRefused: true
        default: false
        }
    }
}

/// Which links of the way to a device are broken, in the order of the causes.
struct BrokenLinks: CustomTestStringConvertible {
    var links: [Link]

    var testDescription: String { links.map(\.rawValue).joined(separator: " and ") }

    static let alone = Link.allCases.map { BrokenLinks(links: [$0]) }

    static let pairs = Link.allCases.indices.flatMap { index in
        Link.allCases[(index + 1)...].map { BrokenLinks(links: [Link.allCases[index], $0]) }
    }

    static let possiblePairs = pairs.filter { !Link.exclude($0.links[0], $0.links[1]) }

    func has(_ link: Link) -> Bool { links.contains(link) }
}

/// Bob's tablet lacks the record `a` of Anna, which is under the root of a share with Bob, because of
/// one broken link or two.
private struct Story {
    let broken: BrokenLinks
    let world: JournalledStore
    var token: ChangeToken?
    /// The position as of which is asked; `nil` for the newest version.
    var position: SequenceNumber?

    init(_ broken: BrokenLinks) async throws {
        self.broken = broken
        world = try await JournalledStore()
        try await world.modify([
            world.save("root"), world.share(of: "root", with: [("bob", .readOnly)]),
        ])
        try await world.accept(as: "bob")
    }

    mutating func play() async throws {
        if broken.has(.committedAfterToken) { try await fetch(since: nil) }
        if !broken.has(.neverSaved) { try await save(1) }
        if broken.has(.beganAfterDeletion) { try await delete() }
        let asked = world.store.lastSequence
        if broken.has(.unknown) {
            try world.reopen(.refusals)
            try world.reopen(.full)
        }
        if broken.has(.delivered), !broken.has(.beganAfterDeletion) {
            try await fetch(since: token)
            if broken.has(.committedAfterToken) {
                position = asked
                try await save(2)
            }
        }
        if broken.has(.beganAfterDeletion) { try await fetch(since: nil) }
        if broken.has(.superseded) {
            position = asked
            try await save(2)
            try await fetch(since: broken.has(.beganAfterDeletion) ? nil : token)
            if broken.has(.committedAfterToken) { try await save(3) }
        }
        if broken.has(.fetchRefused) { try await fetchInVain() }
        if broken.has(.refused) {
            let error = try await world.modify([world.save("a", under: "missing")]).saves[0]
            #expect(throws: SyncError.self) { try error.get() }
        }
        if broken.has(.hidden) {
            let leave = ModifyZonesRequest(deletions: [world.zone(for: "bob")])
            let left = try await world.store.modifyZones(leave, as: world.caller("bob"))
            _ = try left.deletions[0].get()
        }
    }

    private mutating func fetch(since token: ChangeToken?) async throws {
        self.token = try await world.fetch("bob", on: "tablet", since: token)
    }

    /// With a token of another store, which is expired: the device has to begin anew.
    private func fetchInVain() async throws {
        let other = try await JournalledStore()
        let token = try await other.fetch()
        let error = await #expect(throws: SyncError.self) {
            try await world.fetch("bob", on: "tablet", since: token)
        }
        #expect(error?.code == .changeTokenExpired)
    }

    private func save(_ number: Int64) async throws {
        _ = try await world.modify([
            world.save("a", ["n": .int64(number)], under: "root")
        ]).saves[0].get()
    }

    /// Deletes the record; a device that was told of the record is told of that, too.
    private mutating func delete() async throws {
        if broken.has(.delivered) { try await fetch(since: token) }
        try await world.modify([], delete: ["a"])
        if broken.has(.delivered) { try await fetch(since: token) }
    }

    /// The names of the causes that are found.
    func causes() async throws -> [String] {
        try await world.why("a", from: "tablet", asOf: position, of: "bob").names
            .map { $0 == "acknowledged" ? "delivered" : $0 }
    }
}

/// Which cause an explanation names first.
@Suite struct CauseOrderTests {
    @Test(arguments: BrokenLinks.alone)
    func `Each single cause is named`(broken: BrokenLinks) async throws {
        var story = try await Story(broken)
        try await story.play()
        // A version has a fate of its own, whatever was refused after it: here nobody asked for it.
        let expected = broken.links + (broken.has(.refused) ? [.neverAsked] : [])
        #expect(try await story.causes() == expected.map(\.rawValue))
    }

    @Test(arguments: BrokenLinks.possiblePairs)
    func `Of two causes, the first broken link is named first`(broken: BrokenLinks) async throws {
        var story = try await Story(broken)
        try await story.play()
        let (first, second) = (broken.links[0], broken.links[1])
        let expected = Link.isNamed(second, behind: first) ? [first, second] : [first]
        #expect(try await story.causes() == expected.map(\.rawValue))
    }

    @Test func `Every pair of compatible causes is tested`() {
        #expect(BrokenLinks.pairs.count == 45)
        #expect(BrokenLinks.possiblePairs.count == 34)
    }

    @Test func `A rejection that lets the device keep its data comes after its delivery`()
        async throws
    {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        try await world.fetch()
        await #expect(throws: SyncError.self) {
            try await world.fetch(since: ChangeToken(bytes: [1, 2, 3]))
        }
        #expect(try await world.why("a").names == ["delivered", "fetchRefused"])
    }

    @Test func `A device that starts again is notified of its record's deletion`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        try await world.modify([], delete: ["a"])
        for device in ["phone", "laptop"] { try await world.fetch(on: device) }
        #expect(try await world.why("a").names == ["delivered"])
        #expect(try await world.why("a", from: "laptop").names == ["beganAfterDeletion"])
    }
}

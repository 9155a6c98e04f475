// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

@Suite struct BlameTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    @Test(arguments: [4, 5, 6] as [UInt64])
    func `The blame of all fields equals the state and names each origin`(
        seed: UInt64
    ) async throws {
        var lived = try LivedStore(at: folder.path(), seed: seed)
        try await lived.live(150)
        var points = lived.positions.enumerated().filter { $0.offset % 10 == 0 }.map(\.element)
        points.append(try #require(lived.positions.last))
        for point in points {
            let state = lived.state(asOf: point)
            for (id, moments) in lived.moments {
                guard let fields = state[id] else {
                    await #expect(throws: SyncError.self) {
                        try await lived.store.blame(of: id, asOf: SequenceNumber(rawValue: point))
                    }
                    continue
                }
                let blame = try await lived.store.blame(
                    of: id,
                    asOf: SequenceNumber(rawValue: point)
                )
                let present = blame.fields.filter { $0.value != nil }
                let summed = Dictionary(uniqueKeysWithValues: present.map { ($0.name, $0.value) })
                #expect(summed == fields.mapValues(Optional.some))
                let last = try #require(moments.last { $0.sequence <= point })
                for field in present {
                    let setter = try #require(
                        moments.last { $0.sequence == last.fields[field.name]?.sequence }
                    )
                    let origin = try #require(field.origin)
                    #expect(field.stamp.rawValue == setter.sequence)
                    #expect(origin.sequence == field.stamp)
                    #expect(origin.user?.userRecordName == setter.user)
                    #expect(origin.device == setter.device)
                    #expect(origin.build == setter.build)
                    #expect(origin.request == setter.request)
                }
            }
        }
    }

    @Test func `Blame is a fold over the history`() async throws {
        var lived = try LivedStore(at: folder.path(), seed: 7)
        try await lived.live(150)
        for (id, _) in lived.state() {
            var changes: [PastChange] = []
            for try await entry in try await lived.store.history(of: id) {
                if case .change(let change) = entry { changes.insert(change, at: 0) }
            }
            var folded: [String: SequenceNumber] = [:]
            for change in changes {
                if change.happening == .created { folded = [:] }
                for field in change.fields { folded[field.name] = change.origin.sequence }
            }
            let blame = try await lived.store.blame(of: id)
            let stamps = blame.fields.map { ($0.name, $0.stamp) }
            #expect(Dictionary(uniqueKeysWithValues: stamps) == folded, "\(id)")
        }
    }

    @Test func `A field whose event was dropped keeps its value and its stamp`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        let id = RecordID(recordName: "x")
        for name in ["first", "second"] {
            let save = RecordSave(
                id,
                type: "Note",
                fields: try Fields([name: .string(name)] as KeyValuePairs),
                policy: .changedKeys
            )
            let request = ModifyRecordsRequest(saves: [save])
            _ = try await store.modifyRecords(request, as: Caller()).saves[0].get()
        }
        let whole = try await store.blame(of: id)
        let second = try #require(whole.fields.last)
        let pruned = Blame(
            whole.record,
            at: whole.sequence,
            [second.stamp: try #require(second.origin)]
        )
        #expect(pruned.fields.map(\.value) == [.string("first"), .string("second")])
        #expect(pruned.fields.map(\.stamp) == whole.fields.map(\.stamp))
        #expect(pruned.fields.map { $0.origin == nil } == [true, false])
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing
import Tidemark
import TidemarkAdministration
import TidemarkModel

@testable import TidemarkCommand

/// Commands that ask a store or a server show the progress of the answer.
@Suite struct ShownAdministrationTests {
    @Test func `A call shows its progress until the first part of its answer`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        let caller = Caller(user: "anna")
        let zone = ZoneID(zoneName: "notes")
        _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
        for number in 0..<10 {
            let save = RecordSave(
                RecordID(recordName: "r\(number)", zone: zone),
                type: "Note",
                fields: try Fields(["n": .int64(Int64(number))])
            )
            let request = ModifyRecordsRequest(saves: [save])
            _ = try await store.modifyRecords(request, as: caller).saves[0].get()
        }
        let drawn = Mutex([String]())
        let files = StoreAdministration(of: store, at: folder.path())
        let service = ShownAdministration(files) {
            Progress(after: .zero) { text in drawn.withLock { $0.append(text) } }
        }
        var atParts: [String?] = []
        let call = DifferencesCall(after: 0, through: nil, of: caller.database)
        _ = try await service.answer(call) { _ in
            atParts.append(drawn.withLock { $0.last })
        }
        #expect(drawn.withLock { $0.first }?.contains("%") == true)
        // The bar is gone before anything else is printed.
        #expect(atParts.count == 11)
        #expect(atParts.allSatisfy { $0 == "\r\u{1B}[K" })
        // A call whose answer has no parts takes its bar away at the end.
        drawn.withLock { $0 = [] }
        let bisection = BisectionCall(
            for: .always,
            type: "Note",
            in: caller.database,
            after: 0,
            through: store.lastSequence
        )
        _ = try await service.answer(bisection)
        #expect(drawn.withLock { $0.count } >= 2)
        #expect(drawn.withLock { $0.last } == "\r\u{1B}[K")
        try store.close()
    }
}

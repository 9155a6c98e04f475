// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark

/// Loops that catch errors by their code, as people write them.
///
/// Swift 6.3 hangs or crashes on the first of them where the call that throws has a typed error. This file is compiled
/// in both language modes.
@Suite struct CatchInLoopTests {
    @Test func `Errors are caught by their code in loops`() async throws {
        let folder = try ScratchFolder()
        let path = folder.url.appending(path: "s.tide").path
        let store = try Store.open(at: path, access: .creating)
        let zone = try await store.database(of: "anna").createZone("garden")
        for name in ["a", "a", "b"] {
            do {
                try await zone.save(name, type: "Item", fields: ["n": 1])
            } catch let error as SyncError where error.code == .serverRecordChanged {
                continue
            }
        }
        var rounds = 0
        while true {
            rounds += 1
            do {
                _ = try await zone.fetch("c\(rounds)")
            } catch let error as SyncError where error.code == .unknownItem && rounds < 3 {
                continue
            } catch let error as SyncError where error.code == .unknownItem {
                break
            }
        }
        #expect(rounds == 3)
        for _ in 0..<2 {
            do {
                try await zone.delete("a")
            } catch let error as SyncError {
                guard error.code == .unknownItem else { throw error }
                continue
            } catch {
                throw error
            }
        }
        var found: [String] = []
        for try await record in zone.query("Item") {
            found.append(record.recordID.recordName)
        }
        #expect(found == ["b"])
    }
}

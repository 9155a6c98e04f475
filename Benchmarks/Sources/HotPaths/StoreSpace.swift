// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Tidemark
import TidemarkModel

/// Bytes that a store takes on disk, by what they are for.
struct StoreSpace: Sendable {
    /// The written bytes of segments, manifests and small files.
    var log = 0
    /// The checks of the views, and their pages that hold something.
    var views = 0
    /// Zeros behind what is written, and prepared segments.
    var prepared = 0
    /// The file that is kept for compacting a store on a full disk.
    var reserve = 0
    /// Pages of the views that hold nothing.
    var freePages = 0

    /// The bytes that the store could do without.
    var spare: Int { prepared + reserve + freePages }

    private struct Question: Hashable {
        var events: Int
        var isClosed: Bool
    }

    private static let known = Mutex<[Question: StoreSpace]>([:])

    /// The space of a store to which records were added, 400 with each commit.
    static func measured(_ events: Int, isClosed: Bool) async throws -> StoreSpace {
        let question = Question(events: events, isClosed: isClosed)
        if let space = known.withLock({ $0[question] }) { return space }
        let folder = try ScratchFolder.make()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var store = try Store.open(at: folder, access: .creating, options: unsynced)
        let zones = ModifyZonesRequest(saves: [ScratchStore.zone])
        _ = try await store.modifyZones(zones, as: Caller())
        for start in stride(from: 0, to: events, by: 400) {
            let request = try ScratchStore.request(start..<min(start + 400, events), .insert)
            _ = try await store.modifyRecords(request, as: Caller())
        }
        if isClosed {
            try store.close()
            store = try Store.open(at: folder, access: .reading)
        }
        let space = try StoreSpace(folder, freePages: Int(store.figures().viewSpareByteCount))
        try store.close()
        known.withLock { $0[question] = space }
        return space
    }

    private init(_ folder: String, freePages: Int) throws {
        let files = FileManager.default.enumerator(atPath: folder)
        while let file = files?.nextObject() as? String {
            let path = folder + "/" + file
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            let byteCount = Int(status.st_blocks) * 512
            if file.hasPrefix("views/") {
                views += byteCount
            } else if file == "RESERVE" {
                reserve += byteCount
            } else {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
                let written = (bytes.lastIndex { $0 != 0 } ?? -1) + 1
                log += written
                prepared += max(byteCount - written, 0)
            }
        }
        self.freePages = min(freePages, views)
        views -= self.freePages
    }
}

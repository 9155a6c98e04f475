// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation

/// The real history on disk: all of it, and its live records alone.
final class HistoryOnDisk<Engine: Contender>: Trial {
    private let setting: Setting

    init(_ setting: Setting) {
        self.setting = setting
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        var results: [String: Double] = [:]
        for (name, kept) in [(Name.history, Kept.history), (Name.current, Kept.current)] {
            let folder = setting.folder + "/\(kept)"
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true
            )
            let byteCount = try await Engine.bytesOnDisk(
                of: setting.historyPath,
                keeping: kept,
                in: folder
            )
            results[name] = byteCount.map { Double($0) / 1e6 }
        }
        return results
    }

    func end() {}
}

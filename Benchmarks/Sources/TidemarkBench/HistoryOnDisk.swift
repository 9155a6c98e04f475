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
            let stored = try await Engine.bytesOnDisk(
                of: setting.history,
                keeping: kept,
                in: folder
            )
            results[name] = stored.map { Double($0.byteCount) / 1e6 }
            if kept == .history {
                results[Name.historyWritten] = stored?.writtenByteCount.map { Double($0) / 1e6 }
                results[Name.historyViews] = stored?.viewByteCount.map { Double($0) / 1e6 }
                results[Name.historySpare] = stored?.spareByteCount.map { Double($0) / 1e6 }
            }
        }
        return results
    }

    func end() {}
}

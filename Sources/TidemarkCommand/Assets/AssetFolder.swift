// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Tidemark
import TidemarkAdministration
import TidemarkModel

/// A folder with the bytes of assets, each a file named by its SHA-256 in hexadecimal digits.
///
/// Exports write it and imports read it along with the records.
struct AssetFolder {
    private let path: String
    /// Assets that were named, each once, in the order in which they were.
    private var named: [Named] = []
    private var known: Set<Named> = []

    /// An asset, and the database whose records name it.
    private struct Named: Hashable {
        var asset: AssetReference
        var database: DatabaseID
    }

    init(_ path: String) {
        self.path = path
    }

    private func file(of asset: AssetReference) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let name = asset.checksum.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return "\(path)/\(String(decoding: name, as: UTF8.self))"
    }

    /// Adds the assets that fields of a database's record name.
    mutating func add(_ fields: Fields, of database: DatabaseID) {
        for asset in fields.assetReferences {
            let named = Named(asset: asset, database: database)
            if known.insert(named).inserted { self.named.append(named) }
        }
    }

    /// Adds the assets that a line of a change stream names.
    mutating func add(_ line: ChangeStreamLine) {
        for case .save(_, _, let fields, _) in line.changes { add(fields, of: line.database) }
    }

    /// Writes the bytes of all assets that were added, but for files that are there.
    ///
    /// Throws at the end, for status 1, if the bytes of some are not in the store.
    func write(from service: any AdministrationService) async throws {
        if named.isEmpty { return }
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw CommandError(
                "The folder \(path) cannot be created: \(error.localizedDescription) Name a folder "
                    + "that can be created or written."
            )
        }
        var missingCount = 0
        for named in named {
            let file = file(of: named.asset)
            // The name is the hash of the content, so a file of this name needs no comparison.
            if FileManager.default.fileExists(atPath: file) { continue }
            do {
                // Under another name first, so that an interrupted file does not look complete.
                let part = file + ".part"
                // An interrupted export may have left this file, and `AssetFile.write` writes only
                // to new ones.
                unlink(part)
                let call = AssetBytesCall(of: named.asset, in: named.database)
                try await AssetFile.write(call, from: service, to: part)
                guard rename(part, file) == 0 else {
                    throw CommandError(attempt: "\(file) cannot be created", errno)
                }
            } catch let error as SyncError where error.code == .assetNotAvailable {
                missingCount += 1
                note("Not written: \(error.message)")
            }
        }
        if missingCount > 0 { throw ExitCode.failure }
    }

    /// Stores the bytes of all assets that were added since the last time, as far as they are in the
    /// folder and not in the store.
    mutating func read(into store: Store) async throws {
        for named in named {
            // Per database: bytes that another database holds do not count
            // (`Docs/formats/assets.md`).
            if (try? store.openAsset(named.asset, of: named.database)) != nil { continue }
            let file = file(of: named.asset)
            guard FileManager.default.fileExists(atPath: file) else {
                note("There is no file \(file), whose asset an imported record names.")
                continue
            }
            _ = try await store.storeAsset(
                try AssetFile.pieces(of: file),
                announced: named.asset,
                in: named.database
            )
        }
        // `known` stays: an asset that many lines name is read once per import.
        named = []
    }
}

extension Fields {
    /// The assets that the fields name.
    fileprivate var assetReferences: [AssetReference] {
        namesAssets ? flatMap { $0.value?.assets ?? [] } : []
    }
}

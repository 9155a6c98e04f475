// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The response of the service to a long-lived operation.
///
/// If the operation is found again, its blocks receive this response, without another request.
struct KeptAnswer: Sendable {
    /// The reports that the operation made to its blocks, in order.
    var reports: [OperationReport]
    /// The error of the whole operation; `nil` if it succeeded.
    var error: CKError?

    /// The response as it is stored on disk.
    struct Archive: Codable {
        /// The time of the service's response.
        var time: Date
        var reports: [OperationReport.Archive]
        var error: CKError.Archive?
    }

    /// Archives the answer, with the files of fetched assets linked into a folder by their numbers.
    func archived(at time: Date, _ files: KeptFiles) -> Archive {
        // The files are linked before the answer that names them is written. A process that ends in
        // between leaves files without an answer, which may be those of other assets.
        files.remove()
        for (number, asset) in assets.enumerated() {
            guard case .fetched(_, let file) = asset.place else { continue }
            files.keep(file.url, as: number)
        }
        return Archive(time: time, reports: reports.map(\.archived), error: error?.archived)
    }

    /// Reads a response; `nil` if a part is missing, so that the request is sent again.
    init?(_ archive: Archive, _ files: KeptFiles) {
        let reports = archive.reports.compactMap { OperationReport($0) }
        guard reports.count == archive.reports.count else { return nil }
        self.init(reports: reports, error: archive.error.map { CKError($0) })
        for (number, asset) in assets.enumerated() {
            // Without its file the asset has the path of one that is gone.
            guard let file = files.take(number) else { continue }
            asset.wasFetched(to: file)
        }
    }

    init(reports: [OperationReport], error: CKError?) {
        self.reports = reports
        self.error = error
    }

    /// The assets of all records, in the order of the reports.
    private var assets: [CKAsset] {
        // The order is part of the format (Docs/formats/devices.md, "An answer"): the numbers of
        // files count these assets, when they are written and when they are read.
        reports.compactMap(\.record).flatMap { $0.assets.map(\.asset) }
    }
}

/// The files of fetched assets that an answer has.
struct KeptFiles {
    let folder: URL

    private func place(_ number: Int) -> URL { folder.appendingPathComponent("\(number)") }

    /// Stores a file under a number; without it the asset counts as not fetched.
    func keep(_ file: URL, as number: Int) {
        try? DeviceFile.makeFolder(folder)
        try? link(file, to: place(number))
    }

    /// Returns a file that is removed with its asset.
    func take(_ number: Int) -> TemporaryFile? {
        let kept = place(number)
        guard FileManager.default.fileExists(atPath: kept.path) else { return nil }
        // A second link: the first is removed with the operation, while the program may still read
        // the asset's file.
        let file = TemporaryFile()
        return (try? link(kept, to: file.url)) == nil ? nil : file
    }

    /// Creates the same bytes under another name; copies them if they cannot be linked.
    private func link(_ file: URL, to other: URL) throws {
        do {
            // A link needs neither time nor space for the bytes. It fails between two file systems.
            try FileManager.default.linkItem(at: file, to: other)
        } catch {
            try FileManager.default.copyItem(at: file, to: other)
        }
    }

    func remove() {
        try? FileManager.default.removeItem(at: folder)
    }
}

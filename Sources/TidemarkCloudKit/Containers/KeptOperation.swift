// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// A long-lived operation in its device's folder, until its last callback has been called: a file,
/// and the files of assets that it has fetched (`Docs/formats/devices.md`).
struct KeptOperation: Sendable {
    private let file: URL
    private let files: URL
    /// The service's response from an earlier process; `nil` if there is none yet.
    private(set) var answer: KeptAnswer?

    private static func folder(_ folder: DeviceFolder) -> URL {
        folder.url.appendingPathComponent("operations", isDirectory: true)
    }

    private init(_ id: CKOperation.ID, in folder: DeviceFolder) {
        let name = Self.folder(folder).appendingPathComponent(id)
        file = name.appendingPathExtension("plist")
        files = name.appendingPathExtension("files")
    }

    /// Writes the data from which an operation is run again.
    ///
    /// Throws `invalidArguments` for operations that cannot be long-lived, and `internalError` if
    /// the file cannot be written.
    static func keep(
        _ operation: CKOperation,
        of container: ContainerID,
        by device: TidemarkDevice
    ) throws(CKError) -> KeptOperation {
        guard let kind = LongLivedKind(operation) else {
            throw CKError(
                .invalidArguments,
                "Operations of the class \(type(of: operation)) cannot be long-lived."
            )
        }
        var request = KeptRequest(
            kind: kind,
            operationID: operation.operationID,
            container: container.identifier,
            scope: (operation as? CKDatabaseOperation)?.scope.rawValue,
            user: device.userID?.userRecordName,
            kept: device.now(),
            qualityOfService: operation.qualityOfService.rawValue,
            requestTimeout: operation.timeoutIntervalForRequest,
            resourceTimeout: operation.timeoutIntervalForResource
        )
        operation.keep(in: &request)
        let kept = KeptOperation(operation.operationID, in: device.folder)
        do {
            try kept.write(request)
        } catch {
            throw CKError(
                .internalError,
                "The long-lived operation could not be written to \(kept.file.path): \(error)"
            )
        }
        return kept
    }

    /// Stores the service's response: from now on the operation is kept for a day.
    func wasAnswered(_ answer: KeptAnswer, at time: Date) {
        // An operation that was removed meanwhile, because it had expired, stays removed.
        guard var request = read() else { return }
        request.answer = answer.archived(at: time, KeptFiles(folder: files))
        // Without it the request is sent again; so it is if nobody could read the file.
        guard let data = try? PropertyListEncoder().encode(request),
            data.count <= DeviceFile.byteLimit
        else { return }
        try? DeviceFile.write(data, to: file)
    }

    /// Deletes the operation.
    func remove() {
        try? FileManager.default.removeItem(at: file)
        KeptFiles(folder: files).remove()
    }

    /// Returns the ids of the user's operations in a container that have not ended.
    static func ids(of container: CKContainer) -> [CKOperation.ID] {
        let folder = Self.folder(container.device.folder)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().filter { $0.hasSuffix(".plist") }.compactMap { name in
            let id = (name as NSString).deletingPathExtension
            // Each file is read: only its content names the container, the user and the time.
            return find(id, of: container) == nil ? nil : id
        }
    }

    /// Returns the operation with an id, to be added to its database again; `nil` if it has ended,
    /// was cancelled, or was kept for too long.
    static func operation(
        _ id: CKOperation.ID,
        of container: CKContainer
    ) -> CKOperation? {
        // The id is from the program and becomes the name of a file in the device's folder.
        guard !id.contains("/"), let request = find(id, of: container) else { return nil }
        let operation = request.kind.makeOperation()
        operation.operationID = id
        operation.isLongLived = true
        if let urgency = request.qualityOfService.flatMap({ QualityOfService(rawValue: $0) }) {
            operation.qualityOfService = urgency
        }
        if let seconds = request.requestTimeout { operation.timeoutIntervalForRequest = seconds }
        if let seconds = request.resourceTimeout { operation.timeoutIntervalForResource = seconds }
        operation.restore(from: request)
        operation.database = container.database(
            with: request.scope.flatMap { .init(rawValue: $0) } ?? .private
        )
        var kept = KeptOperation(id, in: container.device.folder)
        kept.answer = request.answer.flatMap { KeptAnswer($0, KeptFiles(folder: kept.files)) }
        operation.kept = kept
        return operation
    }

    private static func find(_ id: CKOperation.ID, of container: CKContainer) -> KeptRequest? {
        let device = container.device
        let kept = KeptOperation(id, in: device.folder)
        guard let request = kept.read(), request.container == container.model.identifier,
            request.user == device.userID?.userRecordName
        else { return nil }
        // Files of other users and containers are left alone, even expired ones: this lookup is not
        // theirs.
        guard !request.isExpired(at: device.now()) else {
            kept.remove()
            return nil
        }
        return request
    }

    private func read() -> KeptRequest? {
        guard let data = DeviceFile.read(file) else { return nil }
        return try? PropertyListDecoder().decode(KeptRequest.self, from: data)
    }

    private func write(_ request: KeptRequest) throws {
        try DeviceFile.write(PropertyListEncoder().encode(request), to: file)
    }
}

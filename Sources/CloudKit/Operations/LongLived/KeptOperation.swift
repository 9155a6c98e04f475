// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark

/// A long-lived operation in its device's folder: one file, until its last callback has been called.
struct KeptOperation: Sendable {
    private let file: URL

    private static func folder(_ folder: DeviceFolder) -> URL {
        folder.url.appendingPathComponent("operations", isDirectory: true)
    }

    private init(_ id: CKOperation.ID, in folder: DeviceFolder) {
        file = Self.folder(folder).appendingPathComponent(id).appendingPathExtension("plist")
    }

    /// Writes what an operation needs to be run again.
    ///
    /// Throws `invalidArguments` for operations that cannot be long-lived, and `internalError` where
    /// the file cannot be written.
    static func keep(
        _ operation: CKOperation,
        of container: ContainerID,
        by user: UserID?,
        in folder: DeviceFolder
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
            user: user?.userRecordName,
            kept: Date()
        )
        operation.keep(in: &request)
        let kept = KeptOperation(operation.operationID, in: folder)
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

    /// Takes note that the service has answered: from now on it is kept for a day.
    func wasAnswered() {
        guard var request = read() else { return }
        request.answered = Date()
        // Without the note it is kept for longer.
        try? write(request)
    }

    /// Forgets the operation.
    func remove() {
        try? FileManager.default.removeItem(at: file)
    }

    /// The ids of a user's operations in a container that have not ended.
    static func ids(
        of container: ContainerID,
        by user: UserID?,
        in folder: DeviceFolder
    ) -> [CKOperation.ID] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: Self.folder(folder).path)
        return (names ?? []).sorted().compactMap { name in
            let id = (name as NSString).deletingPathExtension
            return find(id, of: container, by: user, in: folder) == nil ? nil : id
        }
    }

    /// The operation with an id, to be added to its database again; `nil` if it has ended, was
    /// cancelled, or was kept for too long.
    static func operation(
        _ id: CKOperation.ID,
        of container: CKContainer
    ) -> CKOperation? {
        let folder = container.device.folder
        guard !id.contains("/"),
            let request = find(id, of: container.model, by: container.device.userID, in: folder)
        else { return nil }
        let operation = request.kind.makeOperation()
        operation.operationID = id
        operation.isLongLived = true
        operation.restore(from: request)
        operation.database = container.database(
            with: request.scope.flatMap { .init(rawValue: $0) } ?? .private
        )
        operation.kept = KeptOperation(id, in: folder)
        return operation
    }

    private static func find(
        _ id: CKOperation.ID,
        of container: ContainerID,
        by user: UserID?,
        in folder: DeviceFolder
    ) -> KeptRequest? {
        let kept = KeptOperation(id, in: folder)
        guard let request = kept.read(), request.container == container.identifier,
            request.user == user?.userRecordName
        else { return nil }
        guard !request.isExpired(at: Date()) else {
            kept.remove()
            return nil
        }
        return request
    }

    private func read() -> KeptRequest? {
        guard let data = try? Data(contentsOf: file) else { return nil }
        return try? PropertyListDecoder().decode(KeptRequest.self, from: data)
    }

    private func write(_ request: KeptRequest) throws {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try PropertyListEncoder().encode(request).write(to: file, options: .atomic)
    }
}

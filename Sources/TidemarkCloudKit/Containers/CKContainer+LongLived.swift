// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CKContainer {
    /// Finds the ids of long-lived operations that have not ended.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        callBack { completionHandler(self.longLivedIDs(), nil) }
    }

    /// The ids of long-lived operations that have not ended.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        longLivedIDs()
    }

    /// Finds a long-lived operation; `nil` if it has ended, was cancelled, or is too old.
    ///
    /// Set its blocks and add it again: they hear what the service has answered, or it is asked; it
    /// does nothing a second time.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        callBack { completionHandler(KeptOperation.operation(operationID, of: self), nil) }
    }

    /// A long-lived operation; `nil` if it has ended, was cancelled, or is too old.
    ///
    /// Set its blocks and add it again: they hear what the service has answered, or it is asked; it
    /// does nothing a second time.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        KeptOperation.operation(operationID, of: self)
    }

    private func longLivedIDs() -> [CKOperation.ID] { KeptOperation.ids(of: self) }

    /// Runs a callback where nobody waits for it.
    private func callBack(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "CloudKit.callbacks").async { self.device.run(body) }
    }
}

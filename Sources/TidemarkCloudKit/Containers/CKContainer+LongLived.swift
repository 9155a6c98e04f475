// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CKContainer {
    /// Finds the ids of long-lived operations that have not ended.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        callBack { completionHandler(KeptOperation.ids(of: self), nil) }
    }

    /// Returns the ids of long-lived operations that have not ended.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        KeptOperation.ids(of: self)
    }

    /// Finds a long-lived operation; `nil` if it has ended, was cancelled, or has expired.
    ///
    /// Set its blocks and add it again. They receive the service's response, or the request is sent
    /// if there is none. No change is made twice.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        callBack { completionHandler(KeptOperation.operation(operationID, of: self), nil) }
    }

    /// Returns a long-lived operation; `nil` if it has ended, was cancelled, or has expired.
    ///
    /// Set its blocks and add it again. They receive the service's response, or the request is sent
    /// if there is none. No change is made twice.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        KeptOperation.operation(operationID, of: self)
    }

    /// Runs a callback on a queue that no caller waits on.
    private func callBack(_ body: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "CloudKit.callbacks").async { self.device.run(body) }
    }
}

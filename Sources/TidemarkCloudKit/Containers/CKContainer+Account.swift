// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The availability of the signed-in user's account.
public enum CKAccountStatus: Int, Sendable {
    /// The status cannot be determined at the moment.
    case couldNotDetermine = 0
    /// The account can be used.
    case available = 1
    /// A policy forbids its use.
    case restricted = 2
    /// No user is signed in.
    case noAccount = 3
    /// There is an account, which is not ready yet.
    case temporarilyUnavailable = 4

    init(_ model: AccountStatus) {
        self = Self(rawValue: model.rawValue) ?? .couldNotDetermine
    }
}

extension CKContainer {
    /// Returns the availability of the signed-in user's account.
    public func accountStatus() async throws -> CKAccountStatus {
        try await CKAccountStatus(answer { askingStatus($0) })
    }

    @discardableResult
    func askingStatus(_ handler: @escaping ResultHandler<AccountStatus>) -> CKOperation {
        let call: ServiceCall<AccountStatus> = { (service, caller) async throws(SyncError) in
            try await service.accountStatus(as: caller)
        }
        return ask(call, handler)
    }

    /// Returns the identity of the signed-in user's record.
    public func userRecordID() async throws -> CKRecord.ID {
        try await answer { fetchingUserRecordID($0) }
    }

    @discardableResult
    func fetchingUserRecordID(_ handler: @escaping ResultHandler<CKRecord.ID>) -> CKOperation {
        let call: ServiceCall<UserID> = { (service, caller) async throws(SyncError) in
            try await service.currentUser(as: caller)
        }
        return ask(call) { result in handler(result.map { CKRecord.ID($0) }) }
    }

    /// Runs one call of the service as an operation of this container, as the signed-in user.
    @discardableResult
    func ask<Value: Sendable>(
        _ call: @escaping ServiceCall<Value>,
        _ handler: @escaping ResultHandler<Value>
    ) -> CKOperation {
        let operation = ServiceCallOperation(call, handler)
        // As Apple documents for calls of a container. Such calls are not retried.
        operation.qualityOfService = .userInitiated
        return begin(operation)
    }
}

/// One call of a service that CloudKit has no operation for.
///
/// Unchecked, as its superclass: `perform` writes the value before `complete`, which reads it, is
/// added to the queue of the callbacks.
final class ServiceCallOperation<Value: Sendable>: CKOperation, @unchecked Sendable {
    private let call: ServiceCall<Value>
    private let handler: ResultHandler<Value>
    private var value: Value?

    init(
        _ call: @escaping ServiceCall<Value>,
        _ handler: @escaping ResultHandler<Value>
    ) {
        self.call = call
        self.handler = handler
        super.init()
    }

    override func perform(_ session: Session) async throws(CKError) {
        value = try await session.call(call)
    }

    override func complete(_ error: (any Error)?) {
        if let value, error == nil {
            handler(.success(value))
        } else {
            handler(.failure(error ?? CKError(.internalError, "The call returned no result.")))
        }
    }
}

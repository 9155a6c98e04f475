// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// An app's container: its public database, and the private and shared ones of the signed-in user.
///
/// Unchecked: immutable.
open class CKContainer: NSObject, @unchecked Sendable {
    /// The device that it belongs to.
    let device: TidemarkDevice
    let model: ContainerID
    let defaults: OperationDefaults

    /// Creates a container by its identifier, as the current device sees it.
    public required init(identifier containerIdentifier: String) {
        device = .current
        model = ContainerID(containerIdentifier)
        defaults = OperationDefaults()
        databases = Self.databases(of: model, device, defaults)
    }

    init(_ model: ContainerID, of device: TidemarkDevice, _ defaults: OperationDefaults) {
        self.device = device
        self.model = model
        self.defaults = defaults
        databases = Self.databases(of: model, device, defaults)
    }

    /// Returns the app's own container, as the current device sees it.
    open class func `default`() -> CKContainer {
        TidemarkDevice.currentContainer
    }

    /// The container's identifier.
    open var containerIdentifier: String? { model.identifier }

    /// Returns true if the other object is the same container of the same device.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKContainer else { return false }
        return other.device === device && other.model == model
    }

    /// Follows from the identifier.
    open override var hash: Int { model.hashValue }

    /// The identifier.
    open override var description: String { "<CKContainer: \(model.identifier)>" }

    // MARK: Databases

    private let databases: [CKDatabase]

    private static func databases(
        of container: ContainerID,
        _ device: TidemarkDevice,
        _ defaults: OperationDefaults
    ) -> [CKDatabase] {
        [.public, .private, .shared].map { CKDatabase($0, of: container, device, defaults) }
    }

    /// The signed-in user's own database.
    open var privateCloudDatabase: CKDatabase { database(with: .private) }

    /// The database that every user sees.
    open var publicCloudDatabase: CKDatabase { database(with: .public) }

    /// The database of the records that others share with the signed-in user.
    open var sharedCloudDatabase: CKDatabase { database(with: .shared) }

    /// One of the three databases.
    open func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        // The scopes are numbered from 1, in the order of the array.
        databases[databaseScope.rawValue - 1]
    }

    // MARK: Operations

    /// Begins an operation, after its dependencies.
    ///
    /// An operation that has begun already, or is in a queue, is a programming error and stops the
    /// program.
    open func add(_ operation: CKOperation) {
        operation.take(device, model, defaults)
        operation.enqueue(on: device)
    }

    /// Runs code with a container that gives its operations a configuration and a group, unless
    /// they have their own.
    @discardableResult
    open func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil,
        group: CKOperationGroup? = nil,
        body: (CKContainer) throws -> R
    ) rethrows -> R {
        try body(CKContainer(model, of: device, defaults.inside(configuration, group)))
    }

    /// Runs code with a container that gives its operations a configuration and a group, unless
    /// they have their own.
    @discardableResult
    @preconcurrency
    public nonisolated(nonsending) func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil,
        group: CKOperationGroup? = nil,
        body: @concurrent (CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(CKContainer(model, of: device, defaults.inside(configuration, group)))
    }

    // The calls below can be overridden, as on Apple's systems; those of extensions cannot.

    // MARK: The user

    /// Fetches the availability of the signed-in user's account.
    @preconcurrency
    open func accountStatus(
        completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void
    ) {
        askingStatus { result in
            switch result {
            case .success(let status): completionHandler(CKAccountStatus(status), nil)
            case .failure(let error): completionHandler(.couldNotDetermine, error)
            }
        }
    }

    /// Fetches the identity of the signed-in user's record.
    @preconcurrency
    open func fetchUserRecordID(
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        fetchingUserRecordID { completionHandler($0.value, $0.error) }
    }

    // MARK: Sharing

    /// Accepts a share.
    @preconcurrency
    open func accept(
        _ metadata: CKShare.Metadata,
        completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        accepting([metadata]) { result in
            let share = result.item(metadata)
            completionHandler(share.value, share.error)
        }
    }

    /// Fetches the metadata of the share that a link leads to.
    @preconcurrency
    open func fetchShareMetadata(
        with url: URL,
        completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        fetchingMetadatas([url]) { result in
            let metadata = result.item(url)
            completionHandler(metadata.value, metadata.error)
        }
    }

    /// Fetches a participant for the user with an e-mail address.
    @preconcurrency
    open func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchingParticipant(.init(emailAddress: emailAddress)) {
            completionHandler($0.value, $0.error)
        }
    }

    /// Fetches a participant for the user with a phone number.
    @preconcurrency
    open func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchingParticipant(.init(phoneNumber: phoneNumber)) {
            completionHandler($0.value, $0.error)
        }
    }

    /// Fetches a participant for a user.
    @preconcurrency
    open func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchingParticipant(.init(userRecordID: userRecordID)) {
            completionHandler($0.value, $0.error)
        }
    }
}

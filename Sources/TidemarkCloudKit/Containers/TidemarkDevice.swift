// Tidemark
// SPDX-License-Identifier: Apache-2.0

// The twins of `run` are told apart by `await`.
// swift-format-ignore-file: AmbiguousTrailingClosureOverload

public import Foundation
import TidemarkLock
public import TidemarkModel

/// One device of one user, by which containers are created.
///
/// It replaces the machine and the account that Apple's framework determines by itself.
///
/// ```swift
/// TidemarkDevice(TidemarkCloud(storeAt: "notes.tide"), user: "anna").makeDefault()
/// let container = CKContainer.default()
/// ```
///
/// One process can have several devices of several users. Each device creates its own containers,
/// or runs code that creates them by Apple's names.
///
/// ```swift
/// let cloud = TidemarkCloud.temporary()
/// let phone = TidemarkDevice(cloud, user: "anna", name: "phone")
/// let laptop = TidemarkDevice(cloud, user: "anna", name: "laptop")
/// try await phone.run { try await NoteStore().upload() }
/// ```
public final class TidemarkDevice: Sendable {
    /// A handler of notifications, which receives the dictionary that CloudKit gives to the app
    /// delegate.
    public typealias RemoteNotificationHandler = @Sendable ([AnyHashable: Any]) -> Void

    private struct State: Sendable {
        var user: UserID?
        var handler: RemoteNotificationHandler?
        /// One for each container that was used since the user or the handler changed.
        var listening: [ContainerID: Listening] = [:]
    }

    /// The cloud that the device's containers use.
    public let cloud: TidemarkCloud
    /// The name of the device, which should be unique among the user's devices.
    public let name: String
    /// The app's build, which is kept with every change.
    public let build: String?
    /// The container environment that the device uses.
    public let environment: Environment
    /// The identifier of `CKContainer.default()`.
    public let defaultContainerIdentifier: String
    /// The time, by which long-lived operations are kept and forgotten.
    let now: @Sendable () -> Date
    /// The folder for state that outlives the process.
    let folder: DeviceFolder
    /// The last client change token data that the device sent with changes of zones.
    let marks: ClientMarks
    /// The device's position in its notifications.
    let places: NotificationPlaces
    /// The permissions that the device's users have granted.
    let permissions: GrantedPermissions
    /// Runs the operations that are added to containers and databases.
    let operations = OperationQueue()
    private let operationStarts = DispatchQueue(label: "CloudKit.operations")
    private let state: Lock<State>

    /// Creates a device.
    ///
    /// - Parameters:
    ///   - cloud: The cloud that its containers use.
    ///   - user: The account name of the signed-in user; `nil` if nobody is signed in. It is the name
    ///     of the user's record, unless the cloud has one for each container. The default is the user
    ///     that every store has, with whom others cannot share.
    ///   - name: The name of the device; by default the machine's name.
    ///   - build: The app's build.
    ///   - environment: The container environment that the device uses.
    ///   - defaultContainer: The identifier of `CKContainer.default()`.
    ///   - folder: The folder for state that outlives the process; by default next to the store.
    ///   - now: The clock for the expiry of long-lived operations.
    public init(
        _ cloud: TidemarkCloud,
        user: String? = CKCurrentUserDefaultName,
        name: String = ProcessInfo.processInfo.hostName,
        build: String? = nil,
        environment: Environment = .development,
        defaultContainer: String = ContainerID.standard.identifier,
        folder: String? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.cloud = cloud
        self.name = name
        self.build = build
        self.environment = environment
        defaultContainerIdentifier = defaultContainer
        self.now = now
        self.folder = DeviceFolder(path: folder, of: name, cloud.place)
        marks = ClientMarks(self.folder)
        places = NotificationPlaces(self.folder)
        permissions = GrantedPermissions(self.folder)
        state = Lock(State(user: user.map { UserID($0) }))
        operations.name = "CloudKit on \(name)"
        // The queue has its own thread, even if all threads of the global queues are waiting.
        operations.underlyingQueue = operationStarts
    }

    deinit {
        for listening in state.withLock({ $0.listening }).values { listening.end() }
    }

    /// Returns a container as this device sees it.
    public func container(_ identifier: String? = nil) -> CKContainer {
        CKContainer(
            ContainerID(identifier ?? defaultContainerIdentifier),
            of: self,
            OperationDefaults()
        )
    }
}

// MARK: Current device

extension TidemarkDevice {
    /// The device whose code is running.
    @TaskLocal static var bound: TidemarkDevice?

    /// The process's own device, and its container: one object, which programs may refer to weakly.
    private struct Own: Sendable {
        let device: TidemarkDevice
        let container: CKContainer

        init(_ device: TidemarkDevice) {
            self.device = device
            container = device.container()
        }
    }

    private static let ownDevice = Lock<Own?>(nil)

    private static var own: Own {
        ownDevice.withLock { own in
            if let own { return own }
            // Under the lock, because two threads must not make two devices for one store. Nothing
            // in here may request the current device, which takes this lock.
            let environment = ProcessInfo.processInfo.environment
            let made = Own(TidemarkDevice.fromEnvironment(environment))
            own = made
            return made
        }
    }

    /// The device that `CKContainer.default()` and `CKContainer(identifier:)` are made by: the one
    /// that runs the code, or else the process's own.
    public static var current: TidemarkDevice { bound ?? own.device }

    /// The container that `CKContainer.default()` returns.
    static var currentContainer: CKContainer {
        guard let bound else { return own.container }
        // If the bound device is the process's own, its container is the one object that programs
        // may refer to weakly.
        let own = ownDevice.withLock { $0 }
        return own?.device === bound ? own?.container ?? bound.container() : bound.container()
    }

    /// Makes this the process's default device, for containers that are created from now on.
    public func makeDefault() {
        Self.ownDevice.withLock { $0 = Own(self) }
    }

    /// Runs code as this device.
    ///
    /// Containers that the code creates by Apple's names belong to this device. So do those that
    /// callbacks of their operations create.
    public func run<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
        try Self.$bound.withValue(self) { try body() }
    }

    /// Runs code as this device.
    ///
    /// Containers that the code and its child tasks create by Apple's names belong to this device.
    /// So do those that callbacks of their operations create.
    public nonisolated(nonsending) func run<Answer>(
        _ body: () async throws -> Answer
    ) async rethrows -> Answer {
        try await Self.$bound.withValue(self) { try await body() }
    }
}

// MARK: Signed-in user

extension TidemarkDevice {
    /// The name of the signed-in user's record; `nil` if nobody is signed in.
    public var user: String? { userID?.userRecordName }

    /// The signed-in user; `nil` if nobody is signed in.
    var userID: UserID? { state.withLock { $0.user } }

    /// Signs a user in, in place of the previous one; posts `CKAccountChanged`.
    public func signIn(_ userRecordName: String) {
        change(to: UserID(userRecordName))
    }

    /// Signs the user out; posts `CKAccountChanged`.
    public func signOut() {
        change(to: nil)
    }

    private func change(to user: UserID?) {
        let isNew = state.withLock { state in
            defer { state.user = user }
            return state.user != user
        }
        guard isNew else { return }
        // Before the notifications are posted: operations that their observers begin wait until the
        // device listens as the new user.
        listenAnew()
        announce {
            NotificationCenter.default.post(name: .NSUbiquityIdentityDidChange, object: nil)
            NotificationCenter.default.post(name: .CKAccountChanged, object: self)
        }
    }

    /// Notifies the program that the account or its status has changed.
    func postAccountChanged() {
        announce { NotificationCenter.default.post(name: .CKAccountChanged, object: self) }
    }

    /// Posts notifications as this device, because observers may create containers by Apple's names.
    ///
    /// A post waits for its observers, also for those on the main queue. From a job of the main
    /// actor it would wait for that job itself, so another thread posts then. Foundation runs the
    /// observers at once if the current operation queue is the main one.
    private func announce(_ post: @escaping @Sendable () -> Void) {
        guard MainQueue.isCurrent, OperationQueue.current !== OperationQueue.main else {
            return run(post)
        }
        Self.announcements.async { self.run(post) }
    }

    /// The queue of notifications that jobs of the main actor cause, in their order.
    private static let announcements = DispatchQueue(label: "tidemark.announcements")
}

extension Foundation.Notification.Name {
    // Apple's name.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The account that is signed in, or its status, has changed.
    ///
    /// The notification's object is the ``TidemarkDevice`` that it happened on.
    public static let CKAccountChanged = Self("CKAccountChangedNotification")
}

// MARK: Notifications

extension TidemarkDevice {
    /// Sets the handler of notifications for the user's subscriptions, in place of the app
    /// delegate; `nil` removes it.
    ///
    /// The handler receives the dictionaries that
    /// `CKNotification(fromRemoteNotificationDictionary:)` reads, one after another, on its own
    /// queue. They come from the containers that the device uses.
    ///
    /// The first time, a device receives notifications of a container from that moment on. Later,
    /// also after a restart, it resumes at its last notification.
    public func onRemoteNotification(_ handler: RemoteNotificationHandler?) {
        state.withLock { $0.handler = handler }
        listenAnew()
    }

    /// Waits until the device receives a container's notifications.
    ///
    /// Operations do so before they begin, so that notifications of a subscription that they save
    /// are received.
    func listen(to container: ContainerID, _ service: any DatabaseService) async {
        while true {
            // The lookup of the name may wait, so it runs without the lock. If the user changed
            // meanwhile, the caller is the wrong one, and the loop tries again.
            let account = userID
            // A store that cannot name the user has no notifications either.
            guard let caller = try? await caller(of: container, .private, account) else { return }
            let listening = state.withLock { state -> Listening? in
                if let listening = state.listening[container] { return listening }
                guard state.user == account else { return nil }
                // Under the lock, so that a container has one listener. The initializer does not
                // wait.
                let listening = Listening(service, as: caller, for: self, state.handler)
                state.listening[container] = listening
                return listening
            }
            if let listening { return await listening.hasBegun() }
        }
    }

    /// Stops listening for the previous user or handler, and starts again.
    private func listenAnew() {
        let before = state.withLock { state in
            defer { state.listening = [:] }
            return state.listening
        }
        for (container, listening) in before {
            listening.end()
            Task(executorPreference: OwnThreads.shared) {
                await self.listen(to: container, listening.service)
            }
        }
    }
}

// MARK: As whom it asks

extension TidemarkDevice {
    /// Returns the device's user as the caller of one of their databases.
    func caller(
        of container: ContainerID,
        _ scope: DatabaseScope
    ) async throws(SyncError) -> Caller {
        try await caller(of: container, scope, userID)
    }

    /// Returns a user as the caller of one of their databases; `nil` if nobody is signed in.
    func caller(
        of container: ContainerID,
        _ scope: DatabaseScope,
        _ account: UserID?
    ) async throws(SyncError) -> Caller {
        var user: UserID?
        if let account { user = try await cloud.user(account, in: container) }
        let database = DatabaseID(
            container: container,
            environment: environment,
            scope: scope,
            owner: user ?? .current
        )
        return Caller(database: database, user: user, device: name, build: build)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock
import TidemarkModel

/// Work of a service: an asynchronous Foundation operation.
///
/// Callbacks run one after another on a queue of the operation: first those of single items, in
/// order, then that of the whole operation, then `completionBlock`. None runs on the stack of the
/// code that adds the operation.
///
/// Unchecked: the progress is behind a lock. A program sets properties before it adds the operation
/// to a queue and not afterwards, and they are read after the operation was started: the queue
/// orders the two.
open class CKOperation: Operation, @unchecked Sendable {
    /// The identity of an operation.
    public typealias ID = String

    private enum Step {
        case waiting
        case executing
        case finished
    }

    private struct Progress {
        var step = Step.waiting
        var work: Task<Void, Never>?
        var completionBlock: (@Sendable () -> Void)?
    }

    private let progress = Lock(Progress())
    /// The queue on which all callbacks run.
    private let callbacks = DispatchQueue(label: "CloudKit.callbacks")
    /// The device that was current when the operation was made.
    private let birthplace = TidemarkDevice.current
    private var defaults = OperationDefaults()
    /// The container it was added to.
    private(set) var place: (device: TidemarkDevice, container: ContainerID)?
    /// The stored form of a long-lived operation.
    var kept: KeptOperation?
    /// The reports that a long-lived operation has made to its blocks.
    private let reports = Lock<[OperationReport]>([])

    /// Creates an operation that does nothing.
    public override init() {
        operationID = UUID().uuidString
        super.init()
    }

    // MARK: Settings

    /// The identity of the operation.
    public internal(set) var operationID: ID

    // Apple's declaration: setting `nil` restores the defaults.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// The configuration of the operation; setting it stores a copy.
    open var configuration: Configuration! {
        get { ownConfiguration }
        set { ownConfiguration = Configuration(copying: newValue) }
    }

    private var ownConfiguration = Configuration()

    /// The group of the operation, whose configuration supplies the settings that the operation
    /// does not set.
    open var group: CKOperationGroup?

    /// Called when a long-lived operation is kept and will be found again after a restart.
    open var longLivedOperationWasPersistedBlock: (() -> Void)?

    /// The container, for an operation that is not added to one.
    open var container: CKContainer? {
        get { settings.container }
        set { ownConfiguration.container = newValue }
    }

    /// The urgency of the operation.
    ///
    /// At `utility` and below, calls are repeated if that may help.
    open override var qualityOfService: QualityOfService {
        get { settings.qualityOfService ?? .default }
        set { ownConfiguration.qualityOfService = newValue }
    }

    /// Ignored: there is no network of that kind.
    open var allowsCellularAccess: Bool {
        get { settings.allowsCellularAccess ?? true }
        set { ownConfiguration.allowsCellularAccess = newValue }
    }

    /// True if the operation can be found again after a restart.
    open var isLongLived: Bool {
        get { settings.isLongLived ?? false }
        set { ownConfiguration.isLongLived = newValue }
    }

    /// Seconds after which a request that was not answered fails.
    open var timeoutIntervalForRequest: TimeInterval {
        get { settings.timeoutIntervalForRequest ?? Configuration.requestTimeout }
        set { ownConfiguration.timeoutIntervalForRequest = newValue }
    }

    /// Seconds for which the operation is repeated.
    open var timeoutIntervalForResource: TimeInterval {
        get { settings.timeoutIntervalForResource ?? Configuration.resourceTimeout }
        set { ownConfiguration.timeoutIntervalForResource = newValue }
    }

    /// The effective settings.
    ///
    /// The operation's own settings come first, then those of its group, then those with which it
    /// was added.
    private var settings: Configuration.Settings {
        ownConfiguration.settings.over(group?.settings).over(defaults.settings)
    }

    // MARK: State for the queue

    /// True: the operation continues after `start()` has returned.
    open override var isAsynchronous: Bool { true }

    /// True if the operation has begun and not ended.
    open override var isExecuting: Bool { progress.withLock { $0.step == .executing } }

    /// True if the last callback of the operation has been called.
    open override var isFinished: Bool { progress.withLock { $0.step == .finished } }

    /// Starts the operation; a cancelled one ends with `operationCancelled`.
    open override func start() {
        let begins = progress.withLock { progress in
            defer { if progress.step == .waiting { progress.step = .executing } }
            return progress.step == .waiting
        }
        guard begins else { return }
        // Linux has no key-value observing. `OperationQueue` learns the state of an asynchronous
        // operation from these calls.
        didChangeValue(forKey: "isExecuting")
        // A cancelled operation skips `main()`, in which a subclass may prepare a request.
        if isCancelled { return begin() }
        // A program's `main()` may block; the queue has other operations to start.
        callbacks.async { self.main() }
    }

    /// Does the work, and returns before it is done; called by `start()`.
    ///
    /// Subclasses that override this method to set their properties call it at the end.
    open override func main() {
        begin()
    }

    private func begin() {
        let work = Task(
            executorPreference: OwnThreads.shared,
            priority: TaskPriority(qualityOfService)
        ) {
            await self.work()
        }
        progress.withLock { $0.work = work }
        // `cancel()` may have come before `work` was set, and then found no task.
        if isCancelled { work.cancel() }
    }

    /// Requests the operation to end with `operationCancelled`.
    ///
    /// Work that the service has begun may still be done.
    open override func cancel() {
        super.cancel()
        let (work, isWaiting) = progress.withLock { ($0.work, $0.step == .waiting) }
        work?.cancel()
        // One that was found after a restart and never starts is not found again.
        if isWaiting { kept?.remove() }
    }

    /// Called once, when the operation has ended; last of all its blocks.
    ///
    /// Kept here, since Foundation on Linux would run it on a thread of the global queues, which a
    /// program may all hold up.
    open override var completionBlock: (@Sendable () -> Void)? {
        get { progress.withLock { $0.completionBlock } }
        set { progress.withLock { $0.completionBlock = newValue } }
    }

    private func finish() {
        let completionBlock = progress.withLock { progress in
            defer { progress.completionBlock = nil }
            progress.step = .finished
            progress.work = nil
            return progress.completionBlock
        }
        // From here on the queue may start dependent operations. They do not wait for the
        // completion block.
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
        if let completionBlock { device.run(completionBlock) }
    }

    // MARK: Work of subclasses

    /// The database that the operation uses.
    ///
    /// The default is for operations that belong to no database.
    var scope: CKDatabase.Scope { .private }

    /// Does the work, and reports items with ``tell(_:)``.
    func perform(_ session: Session) async throws(CKError) {}

    /// Reports the end of the whole operation, with or without an error.
    func complete(_ error: (any Error)?) {}

    /// Applies a report, and calls the program's blocks for it.
    func deliver(_ report: OperationReport) {}

    /// Reports an item, and stores the report if the operation is long-lived.
    func tell(_ report: OperationReport) {
        // Stored before the block is called: the kept answer needs every report, even one that the
        // program has not received when the process ends.
        if kept != nil { reports.withLock { $0.append(report) } }
        tell { self.deliver(report) }
    }

    /// Calls a program's block, unless the operation was cancelled by then.
    func tell(_ body: @escaping @Sendable () -> Void) {
        callbacks.async {
            // Checked on the queue of the callbacks: blocks that still wait there when the program
            // cancels are not called.
            guard !self.isCancelled else { return }
            // Containers that a callback creates by Apple's names belong to the operation's device.
            self.device.run(body)
        }
    }

    /// Writes the state that `perform` needs, if the operation can be run again after a restart.
    func keep(in request: inout KeptRequest) {}

    /// Restores the state that ``keep(in:)`` has written.
    func restore(from request: KeptRequest) {}
}

// MARK: Running

extension CKOperation {
    /// The device of the operation.
    var device: TidemarkDevice {
        place?.device ?? settings.container?.device ?? birthplace
    }

    private var containerID: ContainerID {
        place?.container ?? settings.container?.model
            ?? ContainerID(device.defaultContainerIdentifier)
    }

    /// Sets the container that the operation is added to.
    func take(_ device: TidemarkDevice, _ container: ContainerID, _ defaults: OperationDefaults) {
        place = (device, container)
        self.defaults = defaults
    }

    /// Goes into a device's queue.
    func enqueue(on device: TidemarkDevice) {
        precondition(
            !isExecuting && !isFinished,
            "The operation \(operationID) was added a second time. An operation runs once; make a "
                + "new one."
        )
        device.operations.addOperation(self)
    }

    private func work() async {
        var failure: (any Error)?
        do throws(CKError) {
            // `withValue` rethrows any error. The result preserves the error's type.
            try await TidemarkDevice.$bound.withValue(device) {
                () async -> Result<Void, CKError> in
                do throws(CKError) {
                    return .success(try await run())
                } catch {
                    return .failure(error)
                }
            }.get()
        } catch {
            failure = error
        }
        callbacks.async { [failure] in
            // Even if the work succeeded, a cancelled operation fails: the blocks of some items may
            // not have been called.
            let cancelled: CKError? =
                self.isCancelled
                ? CKError(.operationCancelled, "The operation was cancelled.") : nil
            self.device.run { self.complete(cancelled ?? failure) }
            // Only after the last callback: if the process ends before this, the next one finds the
            // operation (Docs/formats/devices.md, "A long-lived operation").
            self.kept?.remove()
            self.finish()
        }
    }

    private func run() async throws(CKError) {
        guard !isCancelled else { return }
        if isLongLived, kept == nil {
            // Written before anything is sent, so that no request is made that a restarted program
            // cannot find.
            kept = try KeptOperation.keep(self, of: containerID, by: device)
            tell { self.longLivedOperationWasPersistedBlock?() }
        }
        if let answer = kept?.answer {
            // An earlier process has received this answer. The blocks get it without another
            // request (Docs/formats/devices.md, "An answer").
            for report in answer.reports { tell(report) }
            if let error = answer.error { throw error }
            return
        }
        let session = try await Session.begin(
            as: device,
            containerID,
            scope,
            defaults.account,
            // The id outlives the process. The service performs a change once for each id
            // (Docs/semantics.md, "Requests that come again").
            requestID: operationID,
            RetryRules(
                retries: qualityOfService == .utility || qualityOfService == .background,
                // As in Apple's interface, zero sets no timeout of its own.
                requestTimeout: timeoutIntervalForRequest > 0
                    ? timeoutIntervalForRequest : Configuration.requestTimeout,
                resourceTimeout: timeoutIntervalForResource
            )
        )
        do throws(CKError) {
            try await perform(session)
            keepAnswer(nil)
        } catch {
            // A request that did not reach the service, that was refused only for now, or whose
            // response was lost, has no response: it is sent again.
            if !error.isOfWholeRequest, error.code != .serverResponseLost, error.code != .zoneBusy {
                keepAnswer(error)
            }
            throw error
        }
    }

    private func keepAnswer(_ error: CKError?) {
        // A cancelled operation is removed, so its answer is not needed.
        guard let kept, !isCancelled else { return }
        let answer = KeptAnswer(reports: reports.withLock { $0 }, error: error)
        kept.wasAnswered(answer, at: device.now())
    }
}

extension TaskPriority {
    init(_ quality: QualityOfService) {
        self =
            switch quality {
            case .userInteractive, .userInitiated: .high
            case .utility: .utility
            case .background: .background
            default: .medium
            }
    }
}

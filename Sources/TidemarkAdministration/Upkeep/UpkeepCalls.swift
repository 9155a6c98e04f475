// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
import TidemarkModel

/// Rewrites the log without the history that may be dropped.
public struct CompactionCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "compact"
    /// See `AdministrationCall`.
    public var writes: Bool { true }
    /// See `AdministrationCall`.
    public typealias Answer = CompactionReport

    /// The history that may be dropped.
    public var policy: CompactionPolicy
    /// True to compute the savings without compacting.
    public var isDryRun: Bool

    /// Describes the call.
    public init(_ policy: CompactionPolicy, isDryRun: Bool = false) {
        self.policy = policy
        self.isDryRun = isDryRun
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> CompactionReport {
        try await administration.store.compact(policy, isDryRun: isDryRun)
    }
}

/// Brings a backup up to date, or makes it.
public struct BackupCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "backup"
    /// See `AdministrationCall`.
    public var writes: Bool { true }
    /// See `AdministrationCall`.
    public typealias Answer = BackupReport

    /// The folder of the backup, on the machine of the store.
    public var destination: String

    /// Describes the call.
    public init(to destination: String) {
        self.destination = destination
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> BackupReport {
        try administration.checkNotErasing()
        // By the path: the backup reads files, so the store need not be open here.
        return try Store.backUp(at: administration.path, to: destination)
    }
}

/// Checks every byte of a store.
public struct VerificationCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "log-verify"
    /// See `AdministrationCall`.
    public typealias Answer = StoreVerification

    /// Describes the call.
    public init() {}

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> StoreVerification {
        try administration.checkNotErasing()
        // By the path: a damaged store may not open.
        return try Store.verify(at: administration.path)
    }
}

/// Removes every byte of a user or a zone.
public struct ErasureCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "erase"
    /// See `AdministrationCall`.
    public var writes: Bool { true }
    /// See `AdministrationCall`.
    public typealias Answer = ErasureReceipt

    /// The subject of the erasure.
    public var subject: ErasureSubject
    /// True to compute the removals without erasing.
    public var isDryRun: Bool

    /// Describes the call.
    public init(_ subject: ErasureSubject, isDryRun: Bool = false) {
        self.subject = subject
        self.isDryRun = isDryRun
    }

    /// See `AdministrationCall`.
    public var recorded: ErasureCall {
        // The record stays in the store, and must not have the name of what was erased.
        ErasureCall(.user(UserID("")), isDryRun: isDryRun)
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> ErasureReceipt {
        if let store = administration.openStore, !isDryRun { return try store.erase(subject) }
        return try Store.erase(subject, at: administration.path, isDryRun: isDryRun)
    }
}

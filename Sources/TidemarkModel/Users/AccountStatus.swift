// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The availability of a user's account.
///
/// Raw values are CloudKit's.
public enum AccountStatus: Int, Hashable, CaseIterable, Codable, Sendable {
    /// The status cannot be determined at the moment.
    case couldNotDetermine = 0
    /// It can.
    case available = 1
    /// A policy forbids it.
    case restricted = 2
    /// No user is signed in.
    case noAccount = 3
    /// There is an account, which is not ready yet.
    case temporarilyUnavailable = 4
}

extension AccountStatus {
    /// The status as text, such as `available`: in a store's records and on the command line.
    package var name: String { "\(self)" }

    /// Creates the status from its ``name``.
    package init?(name: String) {
        guard let status = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = status
    }

    /// Returns the error for a private or shared database of an account with this status; `nil` if
    /// it is usable.
    package func refusal(of user: UserID) -> SyncError? {
        // The codes are those of the table in Docs/semantics.md, "Users".
        let code: SyncError.Code
        switch self {
        case .available: return nil
        case .restricted, .noAccount: code = .notAuthenticated
        case .couldNotDetermine, .temporarilyUnavailable: code = .accountTemporarilyUnavailable
        }
        return SyncError(code, "The account of \(user.userRecordName) cannot be used: \(name).")
    }
}

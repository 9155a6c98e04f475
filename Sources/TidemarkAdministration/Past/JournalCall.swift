// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
public import TidemarkModel

/// Requests rejections and the pages sent to devices, oldest first.
public struct JournalCall: StoreCall {
    /// See `AdministrationCall`.
    public static let name = "journal"
    /// See `AdministrationCall`.
    public typealias Piece = JournalEntry
    /// See `AdministrationCall`.
    public typealias Answer = JournalStanding

    /// True if only rejections are wanted.
    public var refusals: Bool
    /// The device whose calls are wanted; `nil` for all.
    public var device: String?
    /// The user whose calls are wanted; `nil` for all.
    public var user: UserID?

    /// Describes the call.
    public init(refusals: Bool = false, device: String? = nil, user: UserID? = nil) {
        self.refusals = refusals
        self.device = device
        self.user = user
    }

    /// See `StoreCall`.
    public func answer(
        from administration: StoreAdministration,
        receive: (JournalEntry) async throws -> Void
    ) async throws -> JournalStanding {
        let store = try administration.store
        return try await passing(to: receive) { take in
            var goesOn = true
            return try store.visitJournal { entry in
                // The visit cannot be ended early, so the remaining entries are passed over.
                if goesOn, isWanted(entry) { goesOn = take(entry) }
            }
        }
    }

    private func isWanted(_ entry: JournalEntry) -> Bool {
        if refusals, case .told = entry.content { return false }
        // Entries of the store itself stay under every filter: they say what the journal holds from
        // when on.
        guard let caller = entry.content.caller else { return true }
        return (device == nil || caller.device.map { Name($0) } == device.map { Name($0) })
            && (user == nil || caller.user == user)
    }
}

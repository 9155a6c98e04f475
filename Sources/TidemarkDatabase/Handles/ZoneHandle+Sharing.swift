// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension ZoneHandle {
    /// Shares a record and all records below it by their parents.
    ///
    /// ```swift
    /// let share = try await garden.share("beds", with: [.invited("ben", permission: .readWrite)])
    /// let shared = try await ben.accept(share.link)
    /// ```
    ///
    /// Sharing again replaces the participants: a participant who is left out is removed. Durable
    /// when it returns.
    public func share(
        _ root: some RecordNamed,
        with participants: [ShareParticipant] = [],
        publicPermission: SharePermission = .none
    ) async throws -> SharedRecords {
        let name = try recordID(root).recordName
        let content = ShareContent(
            root: name,
            publicPermission: publicPermission,
            participants: participants
        )
        return try await save(shareName(of: root, named: name), content)
    }

    /// Returns the name of a root's share.
    ///
    /// There is one name per root: sharing the root again changes its share instead of adding a
    /// second one.
    private func shareName(of root: some RecordNamed, named name: String) async throws -> String {
        let shareName = "share-\(name)"
        if shareName.utf8.count <= 255 { return shareName }
        // The name of a record has at most 255 bytes, so the root itself must tell.
        return try await fetch(root).shareID?.recordName ?? RecordName.unique().text
    }

    /// Shares the whole zone.
    public func share(
        with participants: [ShareParticipant] = [],
        publicPermission: SharePermission = .none
    ) async throws -> SharedRecords {
        let content = ShareContent(publicPermission: publicPermission, participants: participants)
        return try await save(Share.zoneWideName, content)
    }

    private func save(_ name: String, _ content: ShareContent) async throws -> SharedRecords {
        // Without a tag, because the call states the whole share and not a change of a version.
        let save = RecordSave(
            RecordID(recordName: name, zone: id),
            type: Share.recordType,
            fields: Fields(),
            policy: .changedKeys,
            share: content
        )
        return try SharedRecords(try await self.save(save))
    }

    /// Ends a share: only the owner can read the records afterwards.
    public func endShare(_ share: SharedRecords) async throws {
        try await delete(share.record.recordID.recordName)
    }
}

extension Database {
    /// Accepts the share that a link leads to; returns its zone in the user's shared database.
    ///
    /// Durable when it returns. Throws `unknownItem` for an invalid link, and `permissionFailure`
    /// for a user who is not invited.
    public func accept(_ link: String) async throws -> ZoneHandle {
        let record = try await service.acceptShare(link, as: caller)
        return sharedDatabase.zone(record.zone)
    }
}

extension ShareParticipant {
    /// Creates a participant for the user with a record name.
    public static func invited(
        _ user: String,
        permission: SharePermission = .readOnly
    ) -> ShareParticipant {
        ShareParticipant(user: UserID(user), permission: permission)
    }
}

/// A share, with the link that leads to it.
public struct SharedRecords: Hashable, Sendable {
    /// The share's record.
    public let record: Record
    /// The share and its participants.
    public let share: Share

    init(_ record: Record) throws(SyncError) {
        guard let share = record.share else {
            throw SyncError(.internalError, "The service returned a record that is not a share.")
        }
        self.record = record
        self.share = share
    }

    /// The token of the share's link, which leads any user who has it to the share.
    ///
    /// To form an address for users, put the store's prefix for shares before it.
    public var link: String { share.token }
}

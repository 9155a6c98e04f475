// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The details of a share that are visible to a user who has its link and has not accepted it.
public struct ShareMetadata: Hashable, Codable, Sendable {
    /// The container that it is in.
    public var container: ContainerID
    /// The share's record.
    public var share: Record
    /// The record whose tree is shared; `nil` for a whole zone.
    public var root: RecordID?
    /// The root record, if it was requested.
    public var rootRecord: Record?
    /// The owner of the shared zone.
    public var owner: UserID
    /// The caller's role in the share.
    public var role: ShareRole
    /// The state of the caller's invitation.
    public var acceptance: ShareAcceptance
    /// The caller's permission, now or after accepting.
    public var permission: SharePermission

    /// Creates the metadata of a share.
    public init(
        container: ContainerID,
        share: Record,
        root: RecordID?,
        rootRecord: Record?,
        owner: UserID,
        role: ShareRole,
        acceptance: ShareAcceptance,
        permission: SharePermission
    ) {
        self.container = container
        self.share = share
        self.root = root
        self.rootRecord = rootRecord
        self.owner = owner
        self.role = role
        self.acceptance = acceptance
        self.permission = permission
    }
}

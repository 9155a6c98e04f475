// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock

/// The users that can be added to a share.
public struct CKSharingParticipantAccessOption: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt

    /// Wraps bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Everyone who has the link.
    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1)
    /// Invited users only.
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 2)
    /// Either.
    public static let any: CKSharingParticipantAccessOption = [
        .anyoneWithLink, .specifiedRecipientsOnly,
    ]
}

/// The permissions that users who are added to a share can have.
public struct CKSharingParticipantPermissionOption: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt

    /// Wraps bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Read.
    public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1)
    /// Read and write.
    public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 2)
    /// Either.
    public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}

/// The choices that a system offers to users when they share.
///
/// Nothing here shows these choices; the options are only stored.
///
/// Unchecked: the mutable state is behind a lock.
open class CKAllowedSharingOptions: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    private struct State: Codable, Sendable {
        var permissions: UInt
        var access: UInt
        var allowsAccessRequests = false
        var allowsInvitations = false
    }

    private let state: Lock<State>

    /// Allows some permissions and some ways in.
    public init(
        allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption,
        allowedParticipantAccessOptions: CKSharingParticipantAccessOption
    ) {
        state = Lock(
            State(
                permissions: allowedParticipantPermissionOptions.rawValue,
                access: allowedParticipantAccessOptions.rawValue
            )
        )
    }

    private init(_ state: State) {
        self.state = Lock(state)
    }

    /// All permissions and all ways in.
    public class var standard: CKAllowedSharingOptions {
        CKAllowedSharingOptions(
            allowedParticipantPermissionOptions: .any,
            allowedParticipantAccessOptions: .any
        )
    }

    /// The permissions that participants can have.
    open var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
        get { CKSharingParticipantPermissionOption(rawValue: state.withLock { $0.permissions }) }
        set { state.withLock { $0.permissions = newValue.rawValue } }
    }

    /// The users that can be added.
    open var allowedParticipantAccessOptions: CKSharingParticipantAccessOption {
        get { CKSharingParticipantAccessOption(rawValue: state.withLock { $0.access }) }
        set { state.withLock { $0.access = newValue.rawValue } }
    }

    /// True if the owner can allow access requests.
    open var allowsAccessRequests: Bool {
        get { state.withLock { $0.allowsAccessRequests } }
        set { state.withLock { $0.allowsAccessRequests = newValue } }
    }

    /// True if the owner can allow participants to invite others.
    open var allowsParticipantsToInviteOthers: Bool {
        get { state.withLock { $0.allowsInvitations } }
        set { state.withLock { $0.allowsInvitations = newValue } }
    }

    /// Returns equal options.
    open func copy(with zone: NSZone? = nil) -> Any {
        CKAllowedSharingOptions(state.withLock { $0 })
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the options.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: state.withLock { $0 })
    }

    /// Reads the options.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: State.self) else { return nil }
        state = Lock(archive)
    }
}

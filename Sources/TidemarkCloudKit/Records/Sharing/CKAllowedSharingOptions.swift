// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock

/// Who can be let into a share.
public struct CKSharingParticipantAccessOption: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt

    /// Wraps bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Whoever has the link.
    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1)
    /// Those who are invited.
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(rawValue: 2)
    /// Either.
    public static let any: CKSharingParticipantAccessOption = [
        .anyoneWithLink, .specifiedRecipientsOnly,
    ]
}

/// What those who are let into a share may do.
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

/// What a system lets users choose when they share.
///
/// Nothing here shows such a choice; the options are kept.
///
/// Unchecked: what changes is behind a lock.
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

    /// What participants may be allowed to do.
    open var allowedParticipantPermissionOptions: CKSharingParticipantPermissionOption {
        get { CKSharingParticipantPermissionOption(rawValue: state.withLock { $0.permissions }) }
        set { state.withLock { $0.permissions = newValue.rawValue } }
    }

    /// Who may be let in.
    open var allowedParticipantAccessOptions: CKSharingParticipantAccessOption {
        get { CKSharingParticipantAccessOption(rawValue: state.withLock { $0.access }) }
        set { state.withLock { $0.access = newValue.rawValue } }
    }

    /// Whether it can be allowed to ask to take part.
    open var allowsAccessRequests: Bool {
        get { state.withLock { $0.allowsAccessRequests } }
        set { state.withLock { $0.allowsAccessRequests = newValue } }
    }

    /// Whether participants can be allowed to invite others.
    open var allowsParticipantsToInviteOthers: Bool {
        get { state.withLock { $0.allowsInvitations } }
        set { state.withLock { $0.allowsInvitations = newValue } }
    }

    /// Options that allow the same.
    open func copy(with zone: NSZone? = nil) -> Any {
        CKAllowedSharingOptions(state.withLock { $0 })
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes what is allowed.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: state.withLock { $0 })
    }

    /// Reads what is allowed.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: State.self) else { return nil }
        state = Lock(archive)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Sets the number that the app's badge shows, from which the device continues to count.
///
/// Apple's service no longer counts, and its framework no longer has the class.
///
/// Unchecked: see ``CKOperation``.
@available(*, deprecated, message: "Apple's framework has it no more")
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {
    /// Shows none.
    public override init() {}

    /// Shows a number.
    public convenience init(badgeValue: Int) {
        self.init()
        self.badgeValue = badgeValue
    }

    /// The number that the badge shows.
    open var badgeValue = 0

    /// Called at the end.
    open var modifyBadgeCompletionBlock: (((any Error)?) -> Void)?

    override func perform(_ session: Session) async throws(CKError) {
        // Fails if nobody is signed in: a device keeps one badge for each user.
        _ = try await session.call { (service, caller) async throws(SyncError) in
            try await service.currentUser(as: caller)
        }
        session.device.places.setBadge(badgeValue, of: session.caller)
    }

    override func complete(_ error: (any Error)?) {
        modifyBadgeCompletionBlock?(error)
    }
}

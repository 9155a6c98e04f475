// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Says what the app's badge shows, from which the device goes on counting.
///
/// Apple's service counts no more, and its framework has the class no more.
///
/// Unchecked: as ``CKOperation`` says.
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
        _ = try await session.call { (service, caller) async throws(SyncError) in
            try await service.currentUser(as: caller)
        }
        session.device.places.setBadge(badgeValue, of: session.caller)
    }

    override func complete(_ error: (any Error)?) {
        modifyBadgeCompletionBlock?(error)
    }
}

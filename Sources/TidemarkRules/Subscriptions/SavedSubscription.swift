// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A saved subscription and the position of its event.
package struct SavedSubscription: Sendable {
    package var subscription: Subscription
    package var sequence: UInt64

    package init(subscription: Subscription, sequence: UInt64) {
        self.subscription = subscription
        self.sequence = sequence
    }
}

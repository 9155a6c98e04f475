// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// A saved subscription and the position of its event.
package struct SavedSubscription: Sendable {
    package var subscription: Subscription
    package var sequence: SequenceNumber

    package init(subscription: Subscription, sequence: SequenceNumber) {
        self.subscription = subscription
        self.sequence = sequence
    }
}

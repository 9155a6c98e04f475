// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkDatabase

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension ChangeOrigin {
    /// When it happened, as the commit says, to the millisecond.
    public var date: Date { Date(milliseconds: time) }

    /// When the store received it, by its own clock, to the millisecond.
    public var receivedDate: Date { Date(milliseconds: received) }
}

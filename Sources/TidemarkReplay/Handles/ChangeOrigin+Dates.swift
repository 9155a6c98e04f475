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
    /// The time by the commit, to the millisecond.
    public var date: Date { Date(milliseconds: time) }

    /// The time when the store received it by its own clock, to the millisecond.
    public var receivedDate: Date { Date(milliseconds: received) }
}

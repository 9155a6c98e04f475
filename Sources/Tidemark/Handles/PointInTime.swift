// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkDatabase
public import TidemarkLog
public import TidemarkModel

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A moment in a store's history.
public enum PointInTime: Hashable, Sendable {
    /// After one event.
    case event(SequenceNumber)
    /// After the last commit at or before a time.
    case time(Date)
    /// As far as a device with this token has seen.
    case token(ChangeToken)

    /// So long before now, by the machine's clock.
    public static func ago(_ duration: Duration) -> PointInTime {
        .time(Date(timeIntervalSinceNow: -duration.inSeconds))
    }

    /// Returns the event of the point in a store.
    ///
    /// Throws `changeTokenExpired` or `invalidArguments` for a token that is not of this store's
    /// line.
    public func position(in store: Store) throws(SyncError) -> SequenceNumber {
        switch self {
        case .event(let sequence): sequence
        case .time(let date): try store.position(atOrBefore: date.milliseconds)
        case .token(let token): try store.position(of: token)
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Explanation {
    /// A fact for a question that may name the wrong zone, database or device.
    public enum Hint: Hashable, Codable, Sendable {
        /// The device made the version itself, got it with the answer to its request, and has not fetched
        /// it, as far as is known.
        case ownVersion
        /// Another zone or database has, or had, a record of that name.
        case recordElsewhere(RecordID, DatabaseID, isDeleted: Bool)
        /// Only this many zones were searched for such a record; there are more.
        case searchStopped(zoneCount: Int)
        /// In this many of the searched zones the record could not be looked up, because of damage.
        case zonesUnreadable(zoneCount: Int)
        /// The journal has no entry of the device. It has entries of these devices, and maybe of
        /// others; the device of the latest entry comes first.
        case deviceUnknown(known: [String])
    }
}

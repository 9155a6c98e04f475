// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// An event that tells listeners that the log has grown.
enum Arrival: Hashable, Sendable {
    case commit
}

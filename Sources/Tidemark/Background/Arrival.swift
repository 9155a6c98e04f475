// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What is told when the log has become longer.
enum Arrival: Hashable, Sendable {
    case commit
}

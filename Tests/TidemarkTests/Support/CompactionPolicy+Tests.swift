// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark

extension CompactionPolicy {
    /// The policy that drops all history and all deletions that it may.
    static var keepingNothing: CompactionPolicy {
        var policy = CompactionPolicy()
        policy.history = .none
        policy.tombstones = .none
        return policy
    }
}

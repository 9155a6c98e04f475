// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Whether tests that take minutes run too: `tools/test --long` sets `TIDEMARK_LONG` to 1.
package let runsLongTests = ProcessInfo.processInfo.environment["TIDEMARK_LONG"] == "1"

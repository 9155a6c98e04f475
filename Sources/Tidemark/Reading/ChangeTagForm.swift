// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkModel

extension RecordChangeTag {
    /// Whether the tag has the form that stores give to tags; one of Apple's service has another.
    package var hasStoreForm: Bool { TagContent(self) != nil }
}

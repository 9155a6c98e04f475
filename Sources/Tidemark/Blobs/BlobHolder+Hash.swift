// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel

extension BlobHolder {
    /// The folder of a database.
    package init(_ database: DatabaseID) {
        var hash = BlobHash()
        hash.update(database.identityBytes.span.bytes)
        self.init(hash: hash.finish())
    }
}

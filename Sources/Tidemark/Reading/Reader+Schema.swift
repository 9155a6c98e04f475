// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The operator's door to schemas: no permission of a user matters here.

extension Reader {
    /// See ``Store/schema(of:in:)``.
    func schema(
        of container: ContainerID,
        in environment: Environment
    ) throws(SyncError) -> Schema {
        let database = DatabaseID(container: container, environment: environment, scope: .public)
        return try schema(of: database, try picture(.visible)).whole()
    }
}

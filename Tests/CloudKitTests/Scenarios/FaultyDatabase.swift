// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import TidemarkTesting

/// Returns Anna's private database in a store of its own, and the service in front of the store, which
/// fails on request.
func faultyDatabase() -> (faulty: FaultyService, database: CKDatabase) {
    let faulty = FaultyService(.temporary())
    let device = TidemarkDevice(TidemarkCloud(faulty), user: "anna")
    return (faulty, device.container().privateCloudDatabase)
}

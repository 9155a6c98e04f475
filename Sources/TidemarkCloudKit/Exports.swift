// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Programs import CloudKit and use Foundation, as the real module lets them.
@_exported public import Foundation
// The requirements of `CKSyncEngineDelegate`, which a program may call on its own delegate.
@_exported public import TidemarkDelegate

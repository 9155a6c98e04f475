// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Returns the code of the error with which a call is refused; `nil` if it is not, or by another
/// error.
func refusal<Answer>(_ call: () async throws -> Answer) async -> SyncError.Code? {
    do {
        _ = try await call()
        return nil
    } catch {
        return (error as? SyncError)?.code
    }
}

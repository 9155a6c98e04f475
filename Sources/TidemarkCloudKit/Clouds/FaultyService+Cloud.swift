// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel
public import TidemarkTesting

/// Faults in front of a cloud, by CloudKit's codes.
///
/// ```swift
/// let faulty = FaultyService(.temporary())
/// let phone = TidemarkDevice(TidemarkCloud(faulty), user: "anna")
/// faulty.failNext(.save, with: .zoneBusy, retryAfter: 0.1)
/// ```
extension FaultyService {
    /// Creates a service in front of the service of a cloud.
    public convenience init(_ cloud: TidemarkCloud) {
        self.init { () async throws(SyncError) in try await cloud.service() }
    }

    /// Makes the next calls of a kind fail before they are performed.
    public func failNext(
        _ call: Call,
        with code: CKError.Code,
        retryAfter: Double? = nil,
        times count: Int = 1
    ) {
        failNext(call, with: Self.error(code, retryAfter), times: count)
    }

    /// Makes the next save of a record with this name fail, as the item of its request.
    ///
    /// In an atomic request, the other items of the record's zone fail with `batchRequestFailed`.
    public func failNextSave(
        ofRecordNamed name: String,
        with code: CKError.Code,
        retryAfter: Double? = nil
    ) {
        failNextSave(ofRecordNamed: name, with: Self.error(code, retryAfter))
    }

    private static func error(_ code: CKError.Code, _ retryAfter: Double?) -> SyncError {
        SyncError(
            SyncError.Code(rawValue: code.rawValue) ?? .internalError,
            "The test made this call fail.",
            retryAfter: retryAfter.map { Duration(clampingSeconds: $0) }
        )
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import CloudKit
@testable import TidemarkCloudKit

struct ErrorTests {
    private func fail(_ code: CKError.Code) throws { throw CKError(code) }

    @Test func `Errors are caught by their code`() {
        do {
            try fail(.zoneNotFound)
            Issue.record("nothing was thrown")
        } catch CKError.networkFailure {
            Issue.record("caught as another code")
        } catch CKError.zoneNotFound {
        } catch {
            Issue.record("not caught by its code")
        }

        let error: any Error = CKError(.serverRecordChanged)
        switch error {
        case CKError.serverRecordChanged: break
        default: Issue.record("not matched by its code")
        }
        switch error as? CKError {
        case .some(let error) where error.code == .serverRecordChanged: break
        default: Issue.record("not cast")
        }
        switch (error as? CKError)?.code {
        case .serverRecordChanged?: break
        default: Issue.record("no code")
        }
    }

    @Test func `An error bridges to an NSError of the same domain, code and userInfo`() {
        let error: any Error = CKError(
            .requestRateLimited,
            userInfo: [CKErrorRetryAfterKey: 12.5, NSLocalizedDescriptionKey: "Wait."]
        )
        let object = error as NSError
        #expect(object.domain == CKErrorDomain)
        #expect(object.code == CKError.Code.requestRateLimited.rawValue)
        #expect(object.code == 7)
        #expect(object.userInfo[CKErrorRetryAfterKey] as? Double == 12.5)
        #expect(object.localizedDescription == "Wait.")
        #expect(error.localizedDescription == "Wait.")
        #expect((error._userInfo as? NSDictionary)?[CKErrorRetryAfterKey] as? Double == 12.5)
        #expect(CKError(_nsError: object).code == .requestRateLimited)
        #expect(CKError(_nsError: object).retryAfterSeconds == 12.5)
    }

    @Test func `An NSError of the CloudKit domain can be matched and cast`() {
        let object = NSError(domain: CKErrorDomain, code: 26, userInfo: [:])
        let error: any Error = object
        switch error {
        case CKError.zoneNotFound: break
        default: Issue.record("not matched by its code")
        }
        #expect(error as? CKError == CKError(.zoneNotFound))
        #expect((NSError(domain: "Other", code: 26) as any Error) as? CKError == nil)
    }

    @Test func `Every code of the service has a CKError code`() {
        for code in SyncError.Code.allCases {
            let error = CKError(SyncError(code, "what happened"))
            #expect(error.errorCode == code.rawValue)
            #expect("\(error.code)" == "\(code)")
            #expect(error.localizedDescription == "what happened")
        }
        #expect(CKError.Code(rawValue: 38) == nil)
    }

    @Test func `userInfo contains the details of a service error`() {
        let reset = SyncError(.zoneNotFound, "gone", userDidResetEncryptedData: true)
        #expect(CKError(reset).userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool == true)
        #expect(
            CKError(SyncError(.zoneBusy, "busy", retryAfter: .seconds(3))).retryAfterSeconds == 3
        )
        let zone = ZoneID(zoneName: "Notes")
        let partial = SyncError(
            .partialFailure,
            "some",
            partialErrors: [
                .init(.record(RecordID(recordName: "a", zone: zone)), SyncError(.unknownItem, "")),
                .init(.zone(zone), SyncError(.zoneNotFound, "")),
                .init(.subscription("s"), SyncError(.unknownItem, "")),
            ]
        )
        let errors = CKError(partial).partialErrorsByItemID
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        #expect(errors?.count == 3)
        #expect(
            (errors?[CKRecord.ID(recordName: "a", zoneID: zoneID)] as? CKError)?.code
                == .unknownItem
        )
        #expect((errors?[zoneID] as? CKError)?.code == .zoneNotFound)
        #expect((errors?["s"] as? CKError)?.code == .unknownItem)
        #expect(CKError(reset) == CKError(reset))
        #expect(CKError(reset) != CKError(partial))
        let object = CKError(partial) as NSError
        #expect(
            (object.userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error])?.count == 3
        )
    }
}

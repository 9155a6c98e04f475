// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TidemarkModel
import TidemarkWire

@Suite struct WebErrorTests {
    /// The codes of Apple's service and their statuses: clients know no others.
    private static let statuses = [
        "ACCESS_DENIED": 403, "ATOMIC_ERROR": 400, "AUTHENTICATION_FAILED": 401,
        "AUTHENTICATION_REQUIRED": 421, "BAD_REQUEST": 400, "CONFLICT": 409, "EXISTS": 409,
        "INTERNAL_ERROR": 500, "NOT_FOUND": 404, "QUOTA_EXCEEDED": 413, "THROTTLED": 429,
        "TRY_AGAIN_LATER": 503, "UNIQUE_FIELD_ERROR": 409, "VALIDATING_REFERENCE_ERROR": 412,
        "ZONE_NOT_FOUND": 404,
    ]

    @Test(arguments: SyncError.Code.allCases)
    func `Each error has a code of Apple's list with its status`(code: SyncError.Code) {
        let error = WebError(SyncError(code, "There is a reason."))
        #expect(Self.statuses[error.code] == error.status, "\(error.code)")
        #expect(error.redirectURL == nil)
        // Without the seconds, clients do not repeat a request.
        let isTemporary = ["THROTTLED", "TRY_AGAIN_LATER"].contains(error.code)
        #expect((error.retryAfter != nil) == isTemporary)
        let later = WebError(SyncError(code, "There is a reason.", retryAfter: .seconds(7)))
        #expect(later.retryAfter == 7)
    }

    @Test func `A full disk is no quota, and only the operator learns where it is`() throws {
        let message = "allocate of notes.tide/segments/1 failed: No space left on device"
        let full = SyncError(.quotaExceeded, message, isDiskFull: true)
        let error = WebError(full)
        #expect(error.code == "TRY_AGAIN_LATER")
        #expect(error.status == 503)
        #expect(error.retryAfter == 60)
        #expect(error.reason == "The server's disk is full.")
        #expect(error.cause == message)
        #expect(!String(decoding: error.body(uuid: ""), as: UTF8.self).contains("notes.tide"))
        let coded = try JSONDecoder().decode(SyncError.self, from: JSONEncoder().encode(full))
        #expect(coded == full && coded.isDiskFull)
        let quota = WebError(SyncError(.quotaExceeded, "The quota is used up."))
        #expect(quota.code == "QUOTA_EXCEEDED")
        #expect(quota.cause == nil)
    }

    @Test func `Clients do not see the file name in an error of the log`() {
        let full = SyncError(.quotaExceeded, "The disk is full (notes.tide/log/7.seg, byte 4096)")
        #expect(WebError(full).reason == "The disk is full")
        let damaged = SyncError(.assetNotAvailable, "The asset is damaged (notes.tide/assets/1).")
        #expect(WebError(damaged).reason == "The asset is damaged.")
        for message in [
            "open of notes.tide/views failed: Too many open files (error 24).",
            "The query index failed while opening: SQLite error 14: unable to open database file",
        ] {
            let descriptors = WebError(SyncError(.serviceUnavailable, message))
            #expect(descriptors.reason == "The server cannot use its files at present.")
            #expect(descriptors.cause == message)
        }
        let own = SyncError(.quotaExceeded, "The quota is used up (4 of 4 MB)")
        #expect(WebError(own).reason == own.message)
        let wrong = SyncError(.invalidArguments, "There is no such date (1/2)")
        #expect(WebError(wrong).reason == wrong.message)
    }
}

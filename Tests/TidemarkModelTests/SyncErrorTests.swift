// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct SyncErrorTests {
    @Test func `All codes have CloudKit's numbers`() {
        #expect(SyncError.Code.allCases.map(\.rawValue) == Array(1...37))
        #expect(SyncError.Code.serverRecordChanged.rawValue == 14)
        #expect(SyncError.Code.changeTokenExpired.rawValue == 21)
        #expect(SyncError.Code.limitExceeded.rawValue == 27)
    }

    @Test func `An error that quotes too much keeps its beginning and its end`() {
        for filler in ["x", "ä", "€", "😀"] {
            let name = String(repeating: filler, count: 100_000)
            let error = SyncError(.invalidArguments, "There is no '\(name)'; use another.")
            #expect(error.message.utf8.count < 3_100)
            #expect(error.message.hasPrefix("There is no '\(filler)"))
            #expect(error.message.contains("\(filler)…\(filler)"))
            #expect(error.message.hasSuffix("\(filler)'; use another."))
            #expect(JSONError(name, at: 1).description.utf8.count < 3_100)
            let remedied = SyncError(.invalidArguments, "It is unknown.", remedy: name)
            #expect(remedied.remedy.utf8.count < 3_100)
        }
        let fitting = String(repeating: "x", count: 4_000)
        #expect(SyncError(.invalidArguments, fitting).message == fitting)
    }

    @Test func `Every code has a remedy`() {
        for code in SyncError.Code.allCases {
            #expect(code.remedy.hasSuffix("."), "\(code)")
            #expect(code.remedy.count > 10, "\(code)")
        }
    }

    @Test(arguments: [
        ("ACCESS_DENIED", SyncError.Code.permissionFailure, 403),
        ("ATOMIC_ERROR", .batchRequestFailed, 400),
        ("AUTHENTICATION_REQUIRED", .notAuthenticated, 421),
        ("BAD_REQUEST", .invalidArguments, 400),
        ("CONFLICT", .serverRecordChanged, 409),
        ("INTERNAL_ERROR", .serverRejectedRequest, 500),
        ("NOT_FOUND", .unknownItem, 404),
        ("QUOTA_EXCEEDED", .quotaExceeded, 413),
        ("THROTTLED", .requestRateLimited, 429),
        ("TRY_AGAIN_LATER", .serviceUnavailable, 503),
        ("UNIQUE_FIELD_ERROR", .constraintViolation, 409),
        ("VALIDATING_REFERENCE_ERROR", .referenceViolation, 412),
        ("ZONE_NOT_FOUND", .zoneNotFound, 404),
    ])
    func `Web service codes convert both ways`(name: String, code: SyncError.Code, status: Int) {
        #expect(SyncError.Code(serverErrorCode: name) == code)
        #expect(code.serverErrorCode == name)
        #expect(code.httpStatus == status)
    }

    @Test func `Every code has a known web service code`() {
        for code in SyncError.Code.allCases {
            #expect(SyncError.Code(serverErrorCode: code.serverErrorCode) != nil, "\(code)")
        }
        #expect(SyncError.Code(serverErrorCode: "AUTHENTICATION_FAILED") == .notAuthenticated)
        #expect(SyncError.Code(serverErrorCode: "EXISTS") == .serverRecordChanged)
        #expect(SyncError.Code(serverErrorCode: "?") == nil)
    }

    @Test func `An error prints its code, its cause and its remedy`() {
        let error = SyncError.zoneNotFound(ZoneID(zoneName: "lists"))
        #expect(
            error.description
                == "zoneNotFound (26): There is no zone lists. Check the zone's name, or create the "
                + "zone, then repeat the request."
        )
        let late = SyncError(.requestRateLimited, "Too many.", retryAfter: .seconds(2.5))
        #expect(late.description.hasSuffix("Retry after 2.5 seconds."))
    }

    @Test func `The remedy begins a sentence of its own`() {
        for (message, start) in [
            ("request needs authorization", "request needs authorization. Sign"),
            ("The disk is away.", "The disk is away. Sign"),
            ("It failed (a/b)", "It failed (a/b) Sign"),
        ] {
            let error = SyncError(.notAuthenticated, message, remedy: "Sign in.")
            #expect(error.description.contains(start))
        }
    }

    @Test func `A conflict contains its three records`() throws {
        func record(_ tag: String?, _ value: Int64) throws -> Record {
            let header = RecordHeader(
                recordName: "r",
                recordType: "T",
                created: Authorship(time: 1, user: nil),
                modified: Authorship(time: 1, user: nil)
            )
            return Record(
                zone: .default,
                changeTag: tag.map { RecordChangeTag($0) },
                body: RecordBody(header, fields: try Fields(["n": .int64(value)]))
            )
        }
        let records = ConflictRecords(
            client: try record("1", 1),
            ancestor: try record("1", 0),
            server: try record("2", 2)
        )
        let error = SyncError.recordChanged(RecordID(recordName: "r"), records)
        #expect(error.code == .serverRecordChanged)
        #expect(error.conflict?.client["n"] == .int64(1))
        #expect(error.conflict?.ancestor?["n"] == .int64(0))
        #expect(error.conflict?.server["n"] == .int64(2))
        #expect(error.message.contains("held change tag 1, the server has 2"))
        #expect(error == .recordChanged(RecordID(recordName: "r"), records))
        #expect(error != .zoneNotFound(.default))
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Foundation
import Testing

/// What programs put over CloudKit so that they can test without it.
private protocol Database: AnyObject {
    func add(_ operation: CKDatabaseOperation)
    func save(_ record: CKRecord, completionHandler: @escaping (CKRecord?, Error?) -> Void)
    func fetch(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping (CKRecord?, Error?) -> Void
    )
    func fetchAllRecordZones(completionHandler: @escaping ([CKRecordZone]?, Error?) -> Void)
    func record(for recordID: CKRecord.ID) async throws -> CKRecord
}

extension CKDatabase: Database {}

private protocol Container {
    init(identifier containerIdentifier: String)
    static func `default`() -> CKContainer
    var privateCloudDatabase: CKDatabase { get }
    func accountStatus(completionHandler: @escaping (CKAccountStatus, Error?) -> Void)
}

extension CKContainer: Container {}

private final class FailingDatabase: CKDatabase, @unchecked Sendable {
    var added: [CKDatabaseOperation] = []

    override func add(_ operation: CKDatabaseOperation) {
        added.append(operation)
    }

    override func save(
        _ record: CKRecord,
        completionHandler: @escaping (CKRecord?, Error?) -> Void
    ) {
        completionHandler(nil, CKError(.networkFailure))
    }
}

@Suite struct ProtocolsOverCloudKit {
    private func make<C: Container>(_ type: C.Type) -> C { type.init(identifier: "iCloud.x") }

    @Test func databasesCanBeReplaced() {
        let device = TidemarkDevice(.temporary(), user: "anna")
        device.run {
            let failing = FailingDatabase()
            let database: any Database = failing
            var code: CKError.Code?
            database.save(CKRecord(recordType: "Note")) { _, error in
                code = (error as? CKError)?.code
            }
            #expect(code == .networkFailure)
            database.fetch(withRecordID: CKRecord.ID(recordName: "n")) { _, _ in }
            #expect(failing.added.count == 1)
            #expect(make(CKContainer.self).containerIdentifier == "iCloud.x")
        }
    }
}

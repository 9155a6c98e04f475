// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `records/lookup`: records by their names.
extension WebServices {
    func lookUpRecords(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var given: [(name: String, desiredKeys: [String]?)]?
        var zone = ZoneID.default
        var desiredKeys: [String]?
        var writer = WebWriter(self, request)
        try request.read { (it, name) throws(JSONError) in
            switch name {
            case "records":
                given = try it.values { (it) throws(JSONError) in try it.namedRecord() }
            case "zoneID": zone = try it.zoneID()
            case "desiredKeys": desiredKeys = try it.strings()
            case "numbersAsStrings": writer.numbersAsStrings = try it.truth()
            default: return false
            }
            return true
        }
        let names = try checked(given, "records")
        // A record can be requested under two selections, and the service has one for all.
        let isUniform = names.allSatisfy { $0.desiredKeys == nil }
        var fetch = FetchRecordsRequest(
            names.map { RecordID(recordName: $0.name, zone: zone) },
            // If the selections differ, the fields of all are fetched, and each record is narrowed
            // when it is written.
            desiredKeys: isUniform
                ? desiredKeys : Self.allKeys(names.map(\.desiredKeys), desiredKeys)
        )
        fetch.byteLimit = Self.answerByteLimit
        let asked = fetch
        let token = syncToken(request, of: zone)
        let results = try await ask { (it) throws(SyncError) in
            try await it.fetchRecords(asked, as: request.caller)
        }
        writer.openRecords(names.count)
        await write(into: &writer, request) { writer in
            writer.list(zip(names, results)) { writer, item in
                let ((name, own), result) = item
                switch result {
                case .success where writer.isFull:
                    writer.failure(.answerIsFull, ofRecord: name)
                case .success(let record):
                    let keys = isUniform ? nil : (own ?? desiredKeys)
                    writer.record(record.narrowed(to: keys.map { FieldSelection($0) }))
                case .failure(let error) where error.code == .resultsTruncated:
                    writer.failure(.answerIsFull, ofRecord: name)
                case .failure(let error): writer.failure(WebError(error), ofRecord: name)
                }
            }
        }
        writer.member("syncToken", token)
        return writer.finished()
    }
}

extension WebServices {
    /// Returns the fields that some of the selections have; `nil` if one has all.
    private static func allKeys(_ own: [[String]?], _ common: [String]?) -> [String]? {
        var all: Set<String> = []
        for keys in own {
            guard let keys = keys ?? common else { return nil }
            all.formUnion(keys)
        }
        return all.sorted()
    }
}

extension JSONReader {
    fileprivate mutating func namedRecord() throws(JSONError) -> (
        name: String, desiredKeys: [String]?
    ) {
        let start = offset
        var recordName: String?
        var desiredKeys: [String]?
        try members { (it, name) throws(JSONError) in
            switch name {
            case "recordName": recordName = try it.string()
            case "desiredKeys": desiredKeys = try it.strings()
            default: return false
            }
            return true
        }
        guard let recordName else {
            throw JSONError("The member \"recordName\" is missing.", at: start)
        }
        return (recordName, desiredKeys)
    }
}

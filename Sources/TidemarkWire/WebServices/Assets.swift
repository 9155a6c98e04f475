// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// `assets/upload` and `assets/rereference`: addresses for uploads, and references to existing
/// bytes.
extension WebServices {
    func assetTokens(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        let (zone, fields) = try assetFields(request, "tokens")
        var writer = WebWriter(self, request)
        writer.literal("{\"tokens\":")
        writer.list(fields) { writer, field in
            // Without a type, the receipt of the upload is for this field of any type.
            let target = AssetTarget(
                zone: zone,
                recordType: field.recordType ?? "",
                fieldName: field.fieldName
            )
            writer.literal("{\"recordName\":")
            // A client may upload before it has chosen a name, and uses the one of the answer.
            writer.string(field.recordName ?? UniqueName.make())
            writer.member("fieldName", field.fieldName)
            writer.member("url", host.uploadURL(for: target, as: request.caller))
            writer.literal("}")
        }
        return writer.finished()
    }

    /// Reads the fields that a signed-in user's request names in a list, and their records' zone.
    private func assetFields(
        _ request: WebRequest,
        _ list: StaticString
    ) throws(WebError) -> (zone: ZoneID, fields: [AssetField]) {
        guard request.caller.user != nil else { throw .authenticationRequired }
        var zone = ZoneID.default
        var fields: [AssetField]?
        try request.read { (it, name) throws(JSONError) in
            switch name {
            case "zoneID": zone = try it.zoneID()
            case list: fields = try it.values { (it) throws(JSONError) in try it.assetField() }
            default: return false
            }
            return true
        }
        return (zone, try checked(fields, list.description))
    }

    func rereferencedAssets(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        let (zone, fields) = try assetFields(request, "assets")
        for (index, field) in fields.enumerated() where field.recordName == nil {
            throw .badRequest("The member \"recordName\" of assets[\(index)] is missing.")
        }
        let fetch = FetchRecordsRequest(
            fields.map { RecordID(recordName: $0.recordName ?? "", zone: zone) }
        )
        let results = try await ask { (it) throws(SyncError) in
            try await it.fetchRecords(fetch, as: request.caller)
        }
        var writer = WebWriter(self, request)
        writer.literal("{\"assets\":")
        writer.list(zip(fields, results)) { writer, item in
            let (field, result) = item
            let name = field.recordName ?? ""
            switch result {
            case .failure(let error): writer.failure(WebError(error), ofRecord: name)
            case .success where writer.isFull: writer.failure(.answerIsFull, ofRecord: name)
            case .success(let record):
                let assets = record[field.fieldName]?.assets ?? []
                guard !assets.isEmpty else {
                    let reason =
                        "The record '\(name)' has no asset in the field '\(field.fieldName)'."
                    return writer.failure(.notFound(reason), ofRecord: name)
                }
                writer.literal("{\"recordName\":")
                writer.string(name)
                writer.member("fieldName", field.fieldName)
                writer.literal(",\"value\":")
                // The value has the form that a save of the field accepts: a list stays a list,
                // even of one asset.
                if case .assetList? = record[field.fieldName] {
                    writer.list(assets) { $0.assetToSave($1, nil) }
                } else {
                    writer.assetToSave(assets[0], nil)
                    // Apple's reference has the asset itself as the entry.
                    writer.literal(",")
                    writer.assetMembers(assets[0], nil)
                }
                writer.literal("}")
            }
        }
        return writer.finished()
    }

    /// Returns the answer to an upload.
    public func uploadAnswer(
        for asset: AssetReference,
        _ target: AssetTarget,
        as caller: Caller
    ) -> [UInt8] {
        var writer = WebWriter(self, WebRequest("assets/upload", as: caller))
        writer.literal("{\"singleFile\":")
        writer.assetToSave(asset, target)
        return writer.finished()
    }
}

private struct AssetField {
    var recordName: String?
    var recordType: String?
    var fieldName = ""
}

extension JSONReader {
    fileprivate mutating func assetField() throws(JSONError) -> AssetField {
        let start = offset
        var field = AssetField()
        try members { (it, name) throws(JSONError) in
            switch name {
            case "recordName": field.recordName = try it.string()
            case "recordType": field.recordType = try it.string()
            case "fieldName": field.fieldName = try it.string()
            default: return false
            }
            return true
        }
        guard !field.fieldName.isEmpty else {
            throw JSONError("The member \"fieldName\" is missing.", at: start)
        }
        return field
    }
}

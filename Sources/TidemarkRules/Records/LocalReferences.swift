// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// References to the record's own zone are stored without the zone, so that equal records have
/// equal bytes, regardless of a client's spelling.
extension ModifyRecordsRequest {
    /// Returns the request with the zone removed from references to each record's own zone.
    ///
    /// References to other zones are unchanged; the rules reject them. O(fields) if no reference
    /// names a zone.
    package func withLocalReferences(
        in database: DatabaseID
    ) throws(SyncError) -> ModifyRecordsRequest {
        // Most clients name no zone in references. Their requests are neither copied nor encoded
        // again.
        let namesZones = saves.indices.contains { index in
            saves[index].fields.mayHave(.references) && saves[index].fields.namesZones
        }
        guard namesZones else { return self }
        var request = self
        for (index, save) in saves.enumerated() {
            request.saves[index].fields = try save.fields.withLocalReferences(
                to: save.recordID.zone,
                in: database
            )
        }
        return request
    }
}

extension Fields {
    /// True if any reference names the zone of its target.
    var namesZones: Bool { hasReferences && contains(where: \.namesZone) }

    /// Returns the fields with the zone removed from references to that zone; others are unchanged.
    package func withLocalReferences(
        to zone: ZoneID,
        in database: DatabaseID
    ) throws(SyncError) -> Fields {
        guard namesZones else { return self }
        func local(_ link: Reference) -> Reference {
            guard let target = link.zone, target.isSame(as: zone, in: database) else { return link }
            return Reference(recordName: link.recordName, action: link.action)
        }
        var builder = FieldsBuilder()
        for field in self {
            let value: FieldValue
            switch field.value {
            case .reference(let link): value = .reference(local(link))
            case .referenceList(let links): value = .referenceList(links.map(local))
            default:
                builder.copy(field)
                continue
            }
            try builder.set(field.name, value, isEncrypted: field.isEncrypted)
        }
        return try builder.finish()
    }
}

extension Fields.Element {
    /// True if the field holds a reference that names the zone of its target.
    var namesZone: Bool {
        guard type == .reference || type == .referenceList else { return false }
        return firstZone != nil
    }

    /// The first zone that a reference of the field names.
    package var firstZone: ZoneID? {
        switch value {
        case .reference(let link): link.zone
        case .referenceList(let links): links.lazy.compactMap(\.zone).first
        default: nil
        }
    }
}

extension ZoneID {
    /// Returns true if both are the same zone for a user of a database.
    fileprivate func isSame(as other: ZoneID, in database: DatabaseID) -> Bool {
        // `__defaultOwner__` means the owner of the database.
        func owner(_ zone: ZoneID) -> String {
            zone.ownerName == ZoneID.currentOwner
                ? database.owner.userRecordName : zone.ownerName
        }
        return zoneName.utf8.elementsEqual(other.zoneName.utf8)
            && owner(self).utf8.elementsEqual(owner(other).utf8)
    }
}

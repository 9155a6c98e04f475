// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
public import TidemarkModel

/// Replaces the personal content of a case, and keeps its structure: types, fields, parents,
/// references, shares, and which values are equal.
struct CaseMask {
    private var values: ValueMask
    private let masksNames: Bool

    init(masksNames: Bool, _ random: any RandomNumberGenerator) {
        values = ValueMask(random)
        self.masksNames = masksNames
    }

    mutating func line(_ line: ChangeStreamLine) throws(SyncError) -> ChangeStreamLine {
        var masked = line
        // The content of an app's request id is unknown; without one the line is identified by its
        // content.
        masked.requestID = nil
        masked.user = user(line.user)
        if masksNames { masked.device = line.device.map { values.text($0) } }
        let database = line.database
        masked.database = database.sibling(database.scope, of: user(database.owner))
        masked.changes = []
        for change in line.changes { masked.changes.append(try self.change(change)) }
        return masked
    }

    private mutating func change(
        _ change: ChangeStreamLine.Change
    ) throws(SyncError) -> ChangeStreamLine.Change {
        switch change {
        case .createZone(let zone): return .createZone(self.zone(zone))
        case .deleteZone(let zone, let reason):
            return .deleteZone(self.zone(zone), reason: reason)
        case .delete(let record): return .delete(self.record(record))
        case .save(let record, let type, let fields, let parent):
            let isLink = record.zone.zoneName == Self.links
            return .save(
                recordID: self.record(record),
                recordType: type,
                fields: try self.fields(fields, in: record.zone.zoneName),
                parent: parent.map { isLink ? user(UserID($0.string)).name : name($0) }
            )
        }
    }

    private static let links = SystemZone.shares.rawValue
    private static let schema = SystemZone.schema.rawValue

    // MARK: Names

    private mutating func user(_ user: UserID) -> UserID {
        !masksNames || user == .current ? user : UserID(values.text(user.userRecordName))
    }

    private mutating func zone(_ zone: ZoneID) -> ZoneID {
        // The store's own have names that mean something.
        if !masksNames || zone.zoneName.hasPrefix("_") { return zone }
        return ZoneID(zoneName: values.text(zone.zoneName), ownerName: zone.ownerName)
    }

    /// A record's name in an ordinary zone.
    private mutating func name(_ name: Name) -> Name {
        if !masksNames || name.string == Share.zoneWideName { return name }
        return Name(values.text(name.string))
    }

    mutating func record(_ record: RecordID) -> RecordID {
        let name: String
        switch record.zone.zoneName {
        // A record of the schema is named after its type, which is no content of a user.
        case Self.schema: name = record.recordName
        // The link of a share is a secret, and its parts are in the share's record too.
        case Self.links:
            // Split between bytes: a mark that combines with the slash belongs to the text after
            // it.
            name = record.recordName.utf8
                .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                .map { values.text(String(decoding: $0, as: UTF8.self)) }.joined(separator: "/")
        default: name = self.name(record.name).string
        }
        return RecordID(recordName: name, zone: zone(record.zone))
    }

    // MARK: Fields

    mutating func fields(_ fields: Fields, in zone: String) throws(SyncError) -> Fields {
        // A schema has names of types and fields, and no user's content.
        if zone == Self.schema { return fields }
        var builder = FieldsBuilder()
        for field in fields {
            let value = field.value.map { value in
                zone == Self.links || field.name.hasPrefix("___")
                    ? shareField(field.name, value) : self.value(value)
            }
            try builder.set(field.name, value, isEncrypted: field.isEncrypted)
        }
        return try builder.finish()
    }

    /// Masks a field of a share: names as names, secrets and addresses as texts, other fields as
    /// they are.
    private mutating func shareField(_ field: String, _ value: FieldValue) -> FieldValue {
        switch (field, value) {
        case ("___root", .string(let text)), ("shareName", .string(let text)):
            .string(name(Name(text)).string)
        case ("zoneName", .string(let text)):
            .string(zone(ZoneID(zoneName: text)).zoneName)
        case ("ownerName", .string(let text)): .string(userName(text))
        case ("___participantUsers", .stringList(let texts)),
            ("___requesters", .stringList(let texts)), ("___blocked", .stringList(let texts)):
            .stringList(texts.map { userName($0) })
        case (_, .string(let text)): .string(values.text(text))
        case (_, .stringList(let texts)): .stringList(texts.map { values.text($0) })
        default: value
        }
    }

    private mutating func userName(_ text: String) -> String {
        text.isEmpty ? text : user(UserID(text)).userRecordName
    }

    private mutating func value(_ value: FieldValue) -> FieldValue {
        switch value {
        case .string(let text): .string(values.text(text))
        case .int64(let number): .int64(values.number(number))
        case .double(let number): .double(values.number(number))
        case .bytes(let bytes): .bytes(values.bytes(bytes))
        case .timestamp(let time): .timestamp(values.number(time))
        case .location(let location): .location(values.location(location))
        case .reference(let reference): .reference(self.reference(reference))
        case .asset(let asset): .asset(self.asset(asset))
        case .stringList(let texts): .stringList(texts.map { values.text($0) })
        case .int64List(let numbers): .int64List(numbers.map { values.number($0) })
        case .doubleList(let numbers): .doubleList(numbers.map { values.number($0) })
        case .bytesList(let list): .bytesList(list.map { values.bytes($0) })
        case .timestampList(let times): .timestampList(times.map { values.number($0) })
        case .locationList(let list): .locationList(list.map { values.location($0) })
        case .referenceList(let list): .referenceList(list.map { self.reference($0) })
        case .assetList(let list): .assetList(list.map { self.asset($0) })
        }
    }

    private mutating func reference(_ reference: Reference) -> Reference {
        Reference(recordName: name(Name(reference.recordName)).string, action: reference.action)
    }

    private mutating func asset(_ asset: AssetReference) -> AssetReference {
        var masked = asset
        masked.checksum = values.bytes(asset.checksum)
        masked.referenceChecksum = asset.referenceChecksum.map { values.bytes($0) }
        masked.wrappingKey = asset.wrappingKey.map { values.bytes($0) }
        return masked
    }
}

extension Case {
    /// Returns the case with random values, of the same length, and equal for equal values;
    /// optionally also with other names of users, devices, zones and records.
    ///
    /// Types and names of fields, parents, references, visibility by shares, builds of the app and
    /// times stay the same. The result depends only on the generator: the same generator gives the
    /// same values.
    public func masked(
        names masksNames: Bool = false,
        using random: some RandomNumberGenerator = SystemRandomNumberGenerator()
    ) throws(SyncError) -> Case {
        var mask = CaseMask(masksNames: masksNames, random)
        var lines: [ChangeStreamLine] = []
        for line in self.lines { lines.append(try mask.line(line)) }
        var records: [CaseRecord] = []
        for record in self.records { records.append(try record.masked(by: &mask)) }
        return Case(
            lines: lines,
            records: records.sorted { $0.id < $1.id },
            recordIDs: recordIDs.map { mask.record($0) },
            prunedRecordIDs: prunedRecordIDs.map { mask.record($0) }
        )
    }
}

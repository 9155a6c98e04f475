// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The bytes of an archived record. Docs/formats/archives.md and this file change together.
///
/// A property list of them, as an encoder writes it, takes ten times as long to write and to read.
extension RecordArchive {
    private static let version: UInt8 = 1

    var bytes: [UInt8] {
        // The parts have the order of the table in archives.md. A reader rejects additional bytes,
        // so a new part needs a new version.
        var writer = ArchiveWriter()
        writer.write(Self.version)
        writer.write(recordType)
        writer.write(recordID)
        writer.write(changeTag) { $0.write($1) }
        writer.write(created) { $0.write($1) }
        writer.write(creator) { $0.write($1) }
        writer.write(modified) { $0.write($1) }
        writer.write(lastModifier) { $0.write($1) }
        writer.write(parent) { $0.write($1) }
        writer.write(share) { $0.write($1) }
        writer.write(isParentChanged ? 1 : 0 as UInt8)
        writer.write(count: exactDates?.count ?? 0)
        for name in exactDates ?? [] { writer.write(name) }
        writer.write(fields) { writer, fields in
            writer.write(count: fields.count)
            for field in fields { writer.write(field) }
        }
        writer.write(shareTerms.flatMap { try? PropertyListEncoder().encode($0) }) { $0.write($1) }
        return writer.bytes
    }

    /// `nil` for bytes of another version, and for damaged ones.
    init?(bytes: [UInt8]) {
        var reader = ArchiveReader(bytes)
        do {
            guard try reader.byte() == Self.version else { return nil }
            self.init(recordType: try reader.text(), recordID: try reader.recordID())
            changeTag = try reader.optional { try $0.text() }
            created = try reader.optional { try $0.double() }
            creator = try reader.optional { try $0.recordID() }
            modified = try reader.optional { try $0.double() }
            lastModifier = try reader.optional { try $0.recordID() }
            parent = try reader.optional { try $0.reference() }
            share = try reader.optional { try $0.reference() }
            isParentChanged = try reader.byte() == 1
            let dates = try reader.list { try $0.text() }
            exactDates = dates.isEmpty ? nil : dates
            fields = try reader.optional { try $0.list { try $0.field() } }
            if let terms = try reader.optional({ try $0.data() }) {
                // Terms that cannot be read make the whole archive unreadable. A share without its
                // participants would remove them when it is saved.
                shareTerms = try? PropertyListDecoder().decode(CKShare.Terms.self, from: terms)
                guard shareTerms != nil else { return nil }
            }
        } catch {
            return nil
        }
        // Bytes that are left over show that something was misread. Half a record must not be saved
        // over a whole one.
        guard reader.isAtEnd else { return nil }
    }
}

/// The kinds of values, by their bytes in an archive; 0 is a field without a value.
private enum ValueKind: UInt8 {
    case string = 1
    case integer, unsigned, real, date, data, location, reference, asset, list
}

extension ArchiveWriter {
    fileprivate mutating func write(_ id: CKRecordID.Archive) {
        write(id.name)
        write(id.zone.name)
        write(id.zone.owner)
    }

    fileprivate mutating func write(_ reference: CKReference.Archive) {
        write(reference.record)
        write(reference.action)
    }

    fileprivate mutating func write(_ field: RecordArchive.Field) {
        write(field.key)
        write((field.isEncrypted ? 1 : 0) | (field.isChanged ? 2 : 0) as UInt8)
        if let value = field.value { write(value) } else { write(0 as UInt8) }
    }

    private mutating func write(_ kind: ValueKind) {
        write(kind.rawValue)
    }

    private mutating func write(_ value: RecordValue) {
        switch value {
        case .string(let text):
            write(.string)
            write(text)
        case .integer(let number):
            write(.integer)
            write(UInt64(bitPattern: number))
        case .unsigned(let number):
            write(.unsigned)
            write(number)
        case .real(let number):
            write(.real)
            write(number)
        case .date(let date):
            write(.date)
            write(date.timeIntervalSinceReferenceDate)
        case .data(let data):
            write(.data)
            write(data)
        case .location(let place):
            write(.location)
            let place = place.archived
            for number in [
                place.latitude, place.longitude, place.altitude, place.horizontalAccuracy,
                place.verticalAccuracy, place.course, place.speed, place.time,
            ] { write(number) }
        case .reference(let reference):
            write(.reference)
            write(reference.archived)
        case .asset(let asset):
            write(.asset)
            write(asset.archived)
        case .list(let values, let type):
            write(.list)
            write(type) { $0.write($1.rawValue) }
            write(count: values.count)
            for value in values { write(value) }
        }
    }

    private mutating func write(_ asset: CKAsset.Archive) {
        write(asset.file?.absoluteString) { $0.write($1) }
        write(asset.checksum) { $0.write($1) }
        write(asset.byteCount) { $0.write($1) }
        write(asset.referenceChecksum) { $0.write($1) }
        write(asset.wrappingKey) { $0.write($1) }
    }
}

extension ArchiveReader {
    fileprivate mutating func recordID() throws -> CKRecordID.Archive {
        CKRecordID.Archive(
            name: try text(),
            zone: CKRecordZoneID.Archive(name: try text(), owner: try text())
        )
    }

    fileprivate mutating func reference() throws -> CKReference.Archive {
        CKReference.Archive(record: try recordID(), action: try byte())
    }

    fileprivate mutating func field() throws -> RecordArchive.Field {
        let key = try text()
        let flags = try byte()
        return RecordArchive.Field(
            key: key,
            value: try value(),
            isEncrypted: flags & 1 != 0,
            isChanged: flags & 2 != 0
        )
    }

    /// Returns a value, or `nil` for the kind 0.
    private mutating func value() throws -> RecordValue? {
        let kind = try byte()
        if kind == 0 { return nil }
        guard ValueKind(rawValue: kind) == .list else { return try scalar(kind) }
        let type = try optional { try $0.byte() }
        return .list(
            try list { try $0.scalar(try $0.byte()) },
            of: type.flatMap { FieldType(rawValue: $0) }
        )
    }

    private mutating func scalar(_ kind: UInt8) throws -> RecordValue {
        switch ValueKind(rawValue: kind) {
        case .string: .string(try text())
        case .integer: .integer(Int64(bitPattern: try number()))
        case .unsigned: .unsigned(try number())
        case .real: .real(try double())
        case .date: .date(Date(timeIntervalSinceReferenceDate: try double()))
        case .data: .data(try data())
        case .location: .location(CLLocation(try place()))
        case .reference: .reference(CKReference(try reference()))
        case .asset: .asset(try asset())
        // Lists contain no lists, so the recursion of an archive ends.
        case .list, nil: throw Damage()
        }
    }

    private mutating func place() throws -> CLLocation.Archive {
        CLLocation.Archive(
            latitude: try double(),
            longitude: try double(),
            altitude: try double(),
            horizontalAccuracy: try double(),
            verticalAccuracy: try double(),
            course: try double(),
            speed: try double(),
            time: try double()
        )
    }

    private mutating func asset() throws -> CKAsset {
        let archive = CKAsset.Archive(
            file: try optional { try $0.text() }.flatMap { URL(string: $0) },
            checksum: try optional { try $0.data() },
            byteCount: try optional { try $0.number() },
            referenceChecksum: try optional { try $0.data() },
            wrappingKey: try optional { try $0.data() }
        )
        guard let asset = CKAsset(archive) else { throw Damage() }
        return asset
    }
}

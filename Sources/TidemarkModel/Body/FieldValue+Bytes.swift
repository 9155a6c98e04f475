// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension FieldValue {
    /// The value's bytes in a record's body (Docs/formats/record.md, "Types and values").
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        encode(into: &bytes)
        return bytes
    }

    /// Appends the value's bytes.
    ///
    /// Does not check that they may be stored; ``invalidity`` does.
    package func encode(into bytes: inout [UInt8]) {
        switch self {
        case .string(let text): bytes.append(text: text)
        case .int64(let number), .timestamp(let number): bytes.append(littleEndian: number)
        // The bits are kept, so minus zero differs from zero (Docs/formats/record.md, "Types and
        // values").
        case .double(let number): bytes.append(littleEndian: number.bitPattern)
        case .bytes(let content): bytes.append(contentsOf: content)
        case .location(let place): place.encode(into: &bytes)
        case .reference(let link): link.encode(into: &bytes)
        case .asset(let blob): blob.encode(into: &bytes)
        case .int64List(let numbers), .timestampList(let numbers):
            for number in numbers { bytes.append(littleEndian: number) }
        case .doubleList(let numbers):
            for number in numbers { bytes.append(littleEndian: number.bitPattern) }
        case .stringList(let texts):
            for text in texts {
                bytes.append(littleEndian: UInt32(truncatingIfNeeded: text.utf8.count))
                bytes.append(text: text)
            }
        case .bytesList(let contents):
            bytes.appendPrefixed(contents) { $1.append(contentsOf: $0) }
        case .locationList(let places): bytes.appendPrefixed(places) { $0.encode(into: &$1) }
        case .referenceList(let links): bytes.appendPrefixed(links) { $0.encode(into: &$1) }
        case .assetList(let blobs): bytes.appendPrefixed(blobs) { $0.encode(into: &$1) }
        }
    }

    /// Decodes a value; `nil` unless the bytes are exactly the encoding of a valid value of this
    /// type.
    package init?(decoding bytes: RawSpan, as type: FieldType) {
        var offset = 0
        let end = bytes.byteCount
        func list<Element>(_ next: (RawSpan, inout Int) -> Element?) -> [Element]? {
            var elements: [Element] = []
            // A list has no count: it ends with its bytes.
            while offset < end {
                guard let element = next(bytes, &offset) else { return nil }
                elements.append(element)
            }
            return elements
        }
        func prefixed<Element>(_ next: (RawSpan, inout Int) -> Element?) -> [Element]? {
            list { span, offset in
                guard let count = span.nextWord32(&offset), span.byteCount - offset >= count else {
                    return nil
                }
                var inner = 0
                let element = next(span.extracting(offset..<offset + count), &inner)
                offset += count
                // An element must use all of its bytes, or one list could be written in several
                // ways.
                return inner == count ? element : nil
            }
        }
        let value: FieldValue?
        switch type {
        case .string: value = bytes.nextString(end, &offset).map(FieldValue.string)
        case .int64: value = bytes.nextInt64(&offset).map(FieldValue.int64)
        case .double: value = bytes.nextFiniteDouble(&offset).map(FieldValue.double)
        case .bytes: value = bytes.nextBytes(end, &offset).map(FieldValue.bytes)
        case .timestamp: value = bytes.nextInt64(&offset).map(FieldValue.timestamp)
        case .location: value = Location.decode(bytes, &offset).map(FieldValue.location)
        case .reference: value = Reference.decode(bytes, &offset).map(FieldValue.reference)
        case .asset: value = AssetReference.decode(bytes, &offset).map(FieldValue.asset)
        case .stringList:
            value = prefixed { $0.nextString($0.byteCount, &$1) }.map(FieldValue.stringList)
        case .int64List:
            value = list { $0.nextInt64(&$1) }.map(FieldValue.int64List)
        case .doubleList:
            value = list { $0.nextFiniteDouble(&$1) }.map(FieldValue.doubleList)
        case .bytesList:
            value = prefixed { $0.nextBytes($0.byteCount, &$1) }.map(FieldValue.bytesList)
        case .timestampList:
            value = list { $0.nextInt64(&$1) }.map(FieldValue.timestampList)
        case .locationList:
            value = prefixed(Location.decode).map(FieldValue.locationList)
        case .referenceList:
            value = prefixed(Reference.decode).map(FieldValue.referenceList)
        case .assetList:
            value = prefixed(AssetReference.decode).map(FieldValue.assetList)
        }
        guard let value, offset == end else { return nil }
        self = value
    }
}

extension [UInt8] {
    /// Appends elements of different lengths, each after its own length.
    fileprivate mutating func appendPrefixed<Item>(
        _ elements: [Item],
        _ encode: (Item, inout [UInt8]) -> Void
    ) {
        for element in elements {
            let start = count
            // The length is known only after the element was encoded, and replaces these four bytes
            // then.
            append(littleEndian: 0 as UInt32)
            encode(element, &self)
            let length = UInt32(truncatingIfNeeded: count - start - 4)
            Swift.withUnsafeBytes(of: length.littleEndian) { bytes in
                for (index, byte) in bytes.enumerated() { self[start + index] = byte }
            }
        }
    }
}

extension RawSpan {
    fileprivate func nextInt64(_ offset: inout Int) -> Int64? {
        nextWord64(&offset).map(Int64.init(bitPattern:))
    }
}

extension Location {
    fileprivate func encode(into bytes: inout [UInt8]) {
        // The order is that of the bits in the flags, and of the bytes on disk.
        let numbers = [horizontalAccuracy, verticalAccuracy, altitude, speed, course]
        var present: UInt8 = timestamp == nil ? 0 : 1 << 5
        for (bit, number) in numbers.enumerated() where number != nil { present |= 1 << bit }
        bytes.append(present)
        bytes.append(littleEndian: latitude.bitPattern)
        bytes.append(littleEndian: longitude.bitPattern)
        for case let number? in numbers { bytes.append(littleEndian: number.bitPattern) }
        if let timestamp { bytes.append(littleEndian: timestamp) }
    }

    fileprivate static func decode(_ bytes: RawSpan, _ offset: inout Int) -> Location? {
        // Unknown flags are rejected: there is exactly one way to write each value, so that equal
        // records have equal bytes.
        guard let present = bytes.nextByte(&offset), present < 1 << 6,
            let latitude = bytes.nextFiniteDouble(&offset),
            let longitude = bytes.nextFiniteDouble(&offset)
        else { return nil }
        var place = Location(latitude: latitude, longitude: longitude)
        let members: [WritableKeyPath<Location, Double?>] = [
            \.horizontalAccuracy, \.verticalAccuracy, \.altitude, \.speed, \.course,
        ]
        for (bit, member) in members.enumerated() where present & 1 << bit != 0 {
            guard let number = bytes.nextFiniteDouble(&offset) else { return nil }
            place[keyPath: member] = number
        }
        if present & 1 << 5 != 0 {
            guard let time = bytes.nextInt64(&offset) else { return nil }
            place.timestamp = time
        }
        return place.invalidity == nil ? place : nil
    }
}

extension Reference {
    fileprivate func encode(into bytes: inout [UInt8]) {
        bytes.append(action.rawValue)
        bytes.append(littleEndian: UInt16(truncatingIfNeeded: zone?.name.byteCount ?? 0))
        bytes.append(littleEndian: UInt16(truncatingIfNeeded: zone?.owner.byteCount ?? 0))
        if let zone {
            bytes.append(text: zone.zoneName)
            bytes.append(text: zone.ownerName)
        }
        bytes.append(text: recordName)
    }

    fileprivate static func decode(_ bytes: RawSpan, _ offset: inout Int) -> Reference? {
        guard let action = bytes.nextByte(&offset).flatMap(Action.init),
            let zoneLength = bytes.nextWord16(&offset),
            let ownerLength = bytes.nextWord16(&offset),
            let zoneName = bytes.nextString(zoneLength, &offset),
            let ownerName = bytes.nextString(ownerLength, &offset),
            let recordName = bytes.nextString(bytes.byteCount - offset, &offset)
        else { return nil }
        // An owner without a zone would be a second form of a target in the record's own zone.
        guard zoneLength > 0 || ownerLength == 0 else { return nil }
        let zone = zoneLength == 0 ? nil : ZoneID(zoneName: zoneName, ownerName: ownerName)
        let link = Reference(recordName: recordName, zone: zone, action: action)
        return link.invalidity == nil ? link : nil
    }
}

extension AssetReference {
    /// The bytes of a SHA-256.
    package static let checksumByteCount = 32

    fileprivate func encode(into bytes: inout [UInt8]) {
        bytes.append(contentsOf: checksum)
        bytes.append(littleEndian: byteCount)
        bytes.append((referenceChecksum == nil ? 0 : 1) | (wrappingKey == nil ? 0 : 2))
        for case let opaque? in [referenceChecksum, wrappingKey] {
            bytes.append(littleEndian: UInt16(truncatingIfNeeded: opaque.count))
            bytes.append(contentsOf: opaque)
        }
    }

    fileprivate static func decode(_ bytes: RawSpan, _ offset: inout Int) -> AssetReference? {
        guard let checksum = bytes.nextBytes(checksumByteCount, &offset),
            let byteCount = bytes.nextWord64(&offset),
            // Unknown flags are rejected, as for a location.
            let present = bytes.nextByte(&offset), present < 4
        else { return nil }
        var blob = AssetReference(checksum: checksum, byteCount: byteCount)
        if present & 1 != 0 {
            guard let count = bytes.nextWord16(&offset),
                let opaque = bytes.nextBytes(count, &offset)
            else { return nil }
            blob.referenceChecksum = opaque
        }
        if present & 2 != 0 {
            guard let count = bytes.nextWord16(&offset),
                let opaque = bytes.nextBytes(count, &offset)
            else { return nil }
            blob.wrappingKey = opaque
        }
        return blob.invalidity == nil ? blob : nil
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension FieldValue {
    /// The reason why the value cannot be stored; `nil` if it can.
    ///
    /// The text completes "The field … ".
    package var invalidity: String? {
        switch self {
        case .string, .int64, .bytes, .timestamp, .stringList, .int64List, .bytesList,
            .timestampList:
            nil
        case .double(let number): Self.invalidity(of: number)
        case .doubleList(let numbers): numbers.lazy.compactMap(Self.invalidity).first
        case .location(let place): place.invalidity
        case .locationList(let places): places.lazy.compactMap(\.invalidity).first
        case .reference(let link): link.invalidity
        case .referenceList(let links): links.lazy.compactMap(\.invalidity).first
        case .asset(let blob): blob.invalidity
        case .assetList(let blobs): blobs.lazy.compactMap(\.invalidity).first
        }
    }

    private static func invalidity(of number: Double) -> String? {
        number.isFinite
            ? nil : "holds \(number), which is not a finite number; leave the field out instead"
    }
}

extension Location {
    /// The reason why the place cannot be stored; `nil` if it can.
    package var invalidity: String? {
        let others = [horizontalAccuracy, verticalAccuracy, altitude, speed, course]
        guard others.allSatisfy({ $0?.isFinite ?? true }) else {
            return "holds a location with a number that is not finite; leave that part out instead"
        }
        guard (-90.0...90.0).contains(latitude) else {
            return "holds a location at latitude \(latitude); it must lie from -90 to 90"
        }
        guard (-180.0...180.0).contains(longitude) else {
            return "holds a location at longitude \(longitude); it must lie from -180 to 180"
        }
        return nil
    }
}

extension Reference {
    /// The reason why the link cannot be stored; `nil` if it can.
    package var invalidity: String? {
        guard !name.string.isEmpty else {
            return "refers to a record without a name; give the target's record name"
        }
        guard let zone else { return nil }
        guard !zone.name.string.isEmpty else {
            return "refers to a zone without a name; leave the zone out, or name it"
        }
        guard max(zone.name.byteCount, zone.owner.byteCount) <= Int(UInt16.max) else {
            return "refers to a zone whose name is too long; leave the zone out, or name it"
        }
        return nil
    }
}

extension AssetReference {
    /// The reason why the reference to the blob cannot be stored; `nil` if it can.
    package var invalidity: String? {
        guard checksum.count == Self.checksumByteCount else {
            return "names an asset by a checksum of \(checksum.count) bytes; a SHA-256 has 32"
        }
        let longest = max(referenceChecksum?.count ?? 0, wrappingKey?.count ?? 0)
        guard longest <= Int(UInt16.max) else {
            return "has an asset key of \(longest) bytes; at most 65535 are allowed"
        }
        return nil
    }
}

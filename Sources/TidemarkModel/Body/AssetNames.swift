// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Fields {
    /// Visits the assets that the fields name, by checksum and size, in the order of the fields.
    ///
    /// An asset may be visited more than once. Decodes assets only; bytes that are not an asset are
    /// skipped. O(fields).
    package func visitAssets(_ visit: (_ checksum: RawSpan, _ byteCount: UInt64) -> Void) {
        let span = bytes.span.bytes
        for row in 0..<count {
            let type = FieldEntry.type(at: row, in: span)
            guard Self.isAsset(type) else { continue }
            let value = span.extracting(FieldEntry(at: row, in: span).valueRange)
            if type == FieldType.asset.rawValue {
                Self.visitAsset(value, visit)
            } else {
                var offset = 0
                // The values of a stored body are not checked (Docs/formats/record.md, "Validity"),
                // so the rest of a list that does not fit its bytes is skipped.
                while let length = value.nextWord32(&offset), value.byteCount - offset >= length {
                    Self.visitAsset(value.extracting(offset..<offset + length), visit)
                    offset += length
                }
            }
        }
    }

    private static func isAsset(_ type: UInt8) -> Bool {
        type == FieldType.asset.rawValue || type == FieldType.assetList.rawValue
    }

    /// One asset's bytes begin with checksum and size.
    private static func visitAsset(
        _ asset: RawSpan,
        _ visit: (_ checksum: RawSpan, _ byteCount: UInt64) -> Void
    ) {
        let checksumByteCount = AssetReference.checksumByteCount
        // A byte of flags follows, so a valid asset is longer than checksum and size.
        guard asset.byteCount > checksumByteCount + 8 else { return }
        visit(asset.extracting(first: checksumByteCount), asset.word64(at: checksumByteCount))
    }
}

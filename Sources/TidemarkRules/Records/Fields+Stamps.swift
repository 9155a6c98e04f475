// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

extension Fields {
    /// The set fields, as a client would send them: without removals and stamps.
    package var asSet: Fields {
        get throws(SyncError) { try copy(withRemovals: false) }
    }

    /// The fields that a client requests to set and to remove.
    ///
    /// A client that sends fetched fields back sends stamps too, which have no meaning in a
    /// request.
    package var asAsked: Fields {
        get throws(SyncError) {
            hasStamps ? try copy(withRemovals: true) : self
        }
    }

    private func copy(withRemovals: Bool) throws(SyncError) -> Fields {
        var builder = FieldsBuilder()
        for field in self where withRemovals || !field.isRemoved {
            let start = builder.beginField()
            builder.withScratch { scratch in
                scratch.append(contentsOf: field.nameBytes)
                scratch.append(contentsOf: field.valueBytes)
            }
            try builder.endField(
                start: start,
                nameByteCount: field.nameBytes.count,
                type: field.type,
                isEncrypted: field.isEncrypted
            )
        }
        return try builder.finish()
    }
}

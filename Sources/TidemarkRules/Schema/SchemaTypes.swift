// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The schema of a container and environment in one state of a store, a record type at a time.
///
/// A request needs the types that it is about: what it costs follows those, not the schema.
package protocol SchemaTypes: Sendable {
    /// Position of the last event that the schema rests on; zero for a schema that nobody changed.
    var lastSequence: SequenceNumber { get }

    /// The schema with that record type alone, and `Users`; without it if there is none of that name.
    func excerpt(_ name: Name) throws(SyncError) -> StoredSchema

    /// The whole schema.
    ///
    /// O(record types) where it was not asked for before.
    func whole() throws(SyncError) -> Schema

    /// At least as many record types as the schema has, and not many more.
    var typeCountBound: Int { get throws(SyncError) }
}

extension SchemaTypes {
    /// The schema with some record types alone, and `Users`.
    package func excerpt(of names: some Sequence<Name>) throws(SyncError) -> Schema {
        var schema = Schema()
        for name in names {
            if let type = try excerpt(name).schema[name] { schema.set(type) }
        }
        return schema
    }

    /// Whether there can be so many record types more.
    package func hasRoom(for count: Int, limit: Int) throws(SyncError) -> Bool {
        if try typeCountBound + count <= limit { return true }
        return try whole().recordTypes.count + count <= limit
    }
}

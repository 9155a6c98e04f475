// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The schema of a container and environment in one state of a store, read by record type.
///
/// A request reads only its own record types, so its cost does not depend on the size of the
/// schema. An object, so that a request holds it by one reference.
package protocol SchemaTypes: AnyObject, Sendable {
    /// The position of the last event that the schema depends on; zero for an unchanged schema.
    var lastSequence: SequenceNumber { get }

    /// Returns the schema with only that record type and `Users`; without the type if it does not
    /// exist.
    func excerpt(_ name: Name) throws(SyncError) -> StoredSchema

    /// Returns the whole schema.
    ///
    /// O(record types) on first use.
    func whole() throws(SyncError) -> Schema

    /// An upper bound of the number of record types, close to the real number.
    var typeCountBound: Int { get throws(SyncError) }
}

extension SchemaTypes {
    /// Returns the schema with only some record types and `Users`.
    package func excerpt(of names: some Sequence<Name>) throws(SyncError) -> Schema {
        var schema = Schema()
        for name in names {
            if let type = try excerpt(name).schema[name] { schema.set(type) }
        }
        return schema
    }

    /// Returns true if the limit allows so many more record types.
    package func hasRoom(for count: Int, limit: Int) throws(SyncError) -> Bool {
        // The bound may be too high. So the whole schema is read only if the bound reaches the
        // limit.
        if try typeCountBound + count <= limit { return true }
        return try whole().recordTypes.count + count <= limit
    }
}

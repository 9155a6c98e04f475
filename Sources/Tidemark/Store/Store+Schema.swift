// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
public import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The operator's door to schemas: no permission of a user matters here.
extension Store {
    /// The schema of a container in one of its environments, as it is now.
    ///
    /// O(schema) after a change of it, O(1) otherwise.
    public func schema(
        of container: ContainerID = .standard,
        in environment: Environment = .development
    ) throws(SyncError) -> Schema {
        try parts.reader.schema(of: container, in: environment)
    }

    /// Changes development's schema to another schema, if the rules of ``SchemaPlan`` allow it, and
    /// returns the changes.
    ///
    /// Durable when it returns. Throws `invalidArguments` with every reason if it is rejected; then
    /// nothing has changed.
    @discardableResult
    public func importSchema(
        _ schema: Schema,
        into container: ContainerID = .standard
    ) async throws(SyncError) -> SchemaPlan {
        try await parts.writer().change(schemaOf: container, in: .development) { [options] in
            .importing(
                schema,
                into: $0.development,
                production: $0.production,
                limits: options.limits
            )
        }
    }

    /// Changes production's schema to development's, if the rules of ``SchemaPlan`` allow it, and
    /// returns the changes.
    ///
    /// Durable when it returns. Throws `invalidArguments` with every reason if it is rejected; then
    /// nothing has changed.
    @discardableResult
    public func promoteSchema(
        of container: ContainerID = .standard
    ) async throws(SyncError) -> SchemaPlan {
        try await parts.writer().change(schemaOf: container, in: .production) { [options] in
            .promoting($0.development, to: $0.production, limits: options.limits)
        }
    }

    /// Changes the indexes of a field in the schema of one environment, and returns the changes.
    ///
    /// A promotion makes production's indexes equal to development's, so change them there too.
    /// Durable when it returns.
    ///
    /// Throws `unknownItem` or `invalidArguments` if there is no such record type or field, and
    /// `invalidArguments` for an index that the field's type cannot have.
    @discardableResult
    public func changeIndexes(
        of field: Name,
        in recordType: Name,
        adding added: Schema.Indexes = [],
        removing removed: Schema.Indexes = [],
        of container: ContainerID = .standard,
        in environment: Environment = .development
    ) async throws(SyncError) -> SchemaPlan {
        try await parts.writer().change(schemaOf: container, in: environment) {
            [options] schemas throws(SyncError) in
            let (development, production) = schemas
            var wanted = environment == .development ? development : production
            guard var type = wanted[recordType] else { throw .recordTypeNotFound(recordType) }
            guard var own = type[field] else { throw .fieldNotFound(field, in: recordType) }
            own.indexes.formUnion(added)
            own.indexes.subtract(removed)
            type.set(own)
            wanted.set(type)
            let limits = options.limits
            return environment == .development
                ? .importing(wanted, into: development, production: production, limits: limits)
                : .promoting(wanted, to: production, limits: limits)
        }
    }
}

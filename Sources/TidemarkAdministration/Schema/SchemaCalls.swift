// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkModel

/// Requests a schema.
public struct SchemaCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "schema"
    /// See `AdministrationCall`.
    public typealias Answer = Schema

    /// The container.
    public var container: ContainerID
    /// Its environment.
    public var environment: Environment

    /// Describes the call.
    public init(of container: ContainerID, in environment: Environment) {
        self.container = container
        self.environment = environment
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Schema {
        try administration.store.schema(of: container, in: environment)
    }
}

/// Changes development's schema to another schema.
public struct ImportSchemaCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "schema-import"
    /// See `AdministrationCall`.
    public var writes: Bool { true }
    /// See `AdministrationCall`.
    public typealias Answer = [String]

    /// The schema.
    public var schema: Schema
    /// The container.
    public var container: ContainerID

    /// Describes the call.
    public init(_ schema: Schema, into container: ContainerID) {
        self.schema = schema
        self.container = container
    }

    /// See `SingleAnswerCall`; returns the changes in words.
    public func answer(from administration: StoreAdministration) async throws -> [String] {
        // In words, because `SchemaChange` has no encoded form.
        try await administration.store.importSchema(schema, into: container).changes.map { "\($0)" }
    }
}

/// Changes production's schema to development's.
public struct PromoteSchemaCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "schema-promote"
    /// See `AdministrationCall`.
    public var writes: Bool { true }
    /// See `AdministrationCall`.
    public typealias Answer = [String]

    /// The container.
    public var container: ContainerID

    /// Describes the call.
    public init(of container: ContainerID) {
        self.container = container
    }

    /// See `SingleAnswerCall`; returns the changes in words.
    public func answer(from administration: StoreAdministration) async throws -> [String] {
        try await administration.store.promoteSchema(of: container).changes.map { "\($0)" }
    }
}

/// Changes the indexes of a field.
public struct ChangeIndexesCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "schema-index"
    /// See `AdministrationCall`.
    public var writes: Bool { true }
    /// See `AdministrationCall`.
    public typealias Answer = [String]

    /// The name of the record type.
    public var recordType: Name
    /// The name of the field.
    public var field: Name
    /// The indexes that come.
    public var added: Schema.Indexes
    /// The indexes that go.
    public var removed: Schema.Indexes
    /// The container.
    public var container: ContainerID
    /// Its environment.
    public var environment: Environment

    /// Describes the call.
    public init(
        of field: Name,
        in recordType: Name,
        adding added: Schema.Indexes,
        removing removed: Schema.Indexes,
        of container: ContainerID,
        in environment: Environment
    ) {
        self.recordType = recordType
        self.field = field
        self.added = added
        self.removed = removed
        self.container = container
        self.environment = environment
    }

    /// See `SingleAnswerCall`; returns the changes in words.
    public func answer(from administration: StoreAdministration) async throws -> [String] {
        try await administration.store.changeIndexes(
            of: field,
            in: recordType,
            adding: added,
            removing: removed,
            of: container,
            in: environment
        ).changes.map { "\($0)" }
    }
}

/// Requests the custom roles of a user.
public struct RolesCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "schema-roles"
    /// See `AdministrationCall`.
    public typealias Answer = [String]

    /// The user.
    public var user: UserID
    /// The container.
    public var container: ContainerID
    /// Its environment.
    public var environment: Environment

    /// Describes the call.
    public init(of user: UserID, of container: ContainerID, in environment: Environment) {
        self.user = user
        self.container = container
        self.environment = environment
    }

    /// See `SingleAnswerCall`; answers with the names of the roles.
    public func answer(from administration: StoreAdministration) async throws -> [String] {
        try administration.store.roles(of: user, of: container, in: environment)
            .map(\.name.string)
    }
}

/// Says which custom roles a user has.
public struct SetRolesCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "schema-roles-set"
    /// See `AdministrationCall`.
    public var writes: Bool { true }

    /// The names of the roles.
    public var roles: [String]
    /// The user.
    public var user: UserID
    /// The container.
    public var container: ContainerID
    /// Its environment.
    public var environment: Environment

    /// Describes the call.
    public init(
        _ roles: [String],
        of user: UserID,
        of container: ContainerID,
        in environment: Environment
    ) {
        self.roles = roles
        self.user = user
        self.container = container
        self.environment = environment
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Nothing {
        try await administration.store.setRoles(
            roles.map { Schema.Role(Name($0)) },
            of: user,
            of: container,
            in: environment
        )
        return Nothing()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// See ``Store/schemaDrift(of:since:)``.
    func schemaDrift(
        of container: ContainerID,
        since first: SequenceNumber
    ) throws(SyncError) -> SchemaDrift {
        let picture = try picture(.visible)
        var fold = SchemaDriftFold(
            of: container,
            against: try productionSchema(of: container, picture).whole()
        )
        let last = picture.bound
        try source.visit(from: 1, through: last) {
            (event) throws(SyncError) in
            try fold.add(event, counts: event.sequence >= first)
            return true
        }
        return fold.drift
    }

    private func productionSchema(
        of container: ContainerID,
        _ picture: ViewPicture
    ) throws(SyncError) -> any SchemaTypes {
        try schema(
            of: DatabaseID(container: container, environment: .production, scope: .public),
            picture
        )
    }

    /// Reports the parts of the schema that a request's saves use and production's schema lacks.
    ///
    /// In development they are reported whatever the outcome of the saves, in production if any
    /// save failed. It has hardly a cost per save in production, nor in development before the
    /// first promotion.
    func reportDrift(
        of request: ModifyRecordsRequest,
        _ result: ModifyRecordsResult,
        as caller: Caller,
        _ picture: ViewPicture
    ) {
        guard options.checksSchema else { return }
        // A save that succeeded in production fits its schema, so only failed ones are looked at.
        if caller.database.environment == .production {
            guard result.saves.contains(where: \.isFailure) else { return }
        }
        guard let production = promotedSchema(of: caller, picture) else { return }
        var gaps: [SchemaDrift.Gap] = []
        for save in request.saves {
            let type = save.typeName
            // A report that cannot be made is no reason to reject the request.
            guard let production = try? production.excerpt(type) else { return }
            if production.checks.admit(save.fields, as: type, in: caller.database.scope) {
                continue
            }
            for gap in production.schema.gaps(saving: save.fields, as: type)
            where !gap.isClosedByProduction && !gaps.contains(gap) {
                gaps.append(gap)
            }
        }
        driftReports.note(gaps, by: caller, at: now())
    }

    /// Reports the indexes that a query needs and production's schema does not have.
    func reportDrift(of query: Query, as caller: Caller) {
        // A report that cannot be made is no reason to reject the request.
        guard options.checksSchema, let picture = try? picture(.visible),
            let promoted = promotedSchema(of: caller, picture),
            let production = try? promoted.excerpt(Name(query.recordType)).schema
        else { return }
        let type = production[Name(query.recordType)]
        let needs = query.schemaRequirements { type?[$0]?.type.queriedType }
        let gaps = production.gaps(querying: Name(query.recordType), using: needs)
        driftReports.note(gaps.filter { !$0.isClosedByProduction }, by: caller, at: now())
    }

    /// Production's schema, if something was promoted to it.
    private func promotedSchema(of caller: Caller, _ picture: ViewPicture) -> (any SchemaTypes)? {
        let container = caller.database.container
        let asOf = picture.lastSystemSequence
        // Otherwise this picture shows an older state than the one that is remembered.
        let isNewest = picture.bound >= asOf
        if isNewest, schemas.withLock({ $0.isUnpromoted(container, asOf: asOf) }) { return nil }
        guard let schema = try? productionSchema(of: container, picture) else { return nil }
        // Before the first promotion, everything would be a gap.
        if schema.lastSequence > 0 { return schema }
        if isNewest { schemas.withLock { $0.noteUnpromoted(container, asOf: asOf) } }
        return nil
    }
}

extension SchemaDrift.Gap {
    /// True if production accepts the gap anyway: the type of shares is created with the first
    /// share.
    var isClosedByProduction: Bool { self == .recordType(Schema.RecordType.share.name) }

    /// The field that it is about; `nil` for a record type.
    var fieldName: Name? {
        switch self {
        case .recordType: nil
        case .field(_, let field, _), .type(_, let field, _, _), .indexes(_, let field, _): field
        }
    }
}

extension Result {
    fileprivate var isFailure: Bool {
        if case .failure = self { true } else { false }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A requested change of a schema, with its problems, before it is made.
public struct SchemaPlan: Hashable, Sendable {
    /// The current schema.
    public let current: Schema
    /// The schema after the change.
    public let target: Schema
    /// The changes.
    public let changes: [SchemaChange]
    /// The reasons to refuse the change, and warnings.
    public let problems: [SchemaProblem]

    /// The errors; empty if the change is allowed.
    public var refusals: [SchemaProblem] { problems.filter { $0.severity == .error } }

    /// The error of a refused plan, with every refusal in its text; `nil` if it is allowed.
    public var error: SyncError? {
        let refusals = refusals
        guard !refusals.isEmpty else { return nil }
        let reasons = refusals.map { "\($0.message) \($0.remedy)" }.joined(separator: " ")
        return SyncError(.invalidArguments, "The schema was not changed. \(reasons)")
    }

    /// Judges a change from one schema to another.
    ///
    /// The change must not remove anything that the kept schema has. The holder of that schema and
    /// the remedy appear in error texts.
    private init(
        from current: Schema,
        to target: Schema,
        keeping kept: Schema,
        of holder: String,
        remedy: String,
        limits: Limits
    ) {
        self.current = current
        self.target = target
        changes = current.changes(to: target)
        var problems = target.problems(limits: limits)
        for change in kept.changes(to: target) {
            switch change {
            case .recordTypeRemoved(let name):
                problems.append(
                    SchemaProblem(
                        .error,
                        change.place,
                        "The record type \(name) is missing, but \(holder) has it.",
                        remedy
                    )
                )
            case .fieldRemoved(let recordType, let field):
                problems.append(
                    SchemaProblem(
                        .error,
                        change.place,
                        "The field \(recordType).\(field) is missing, but \(holder) has it.",
                        remedy
                    )
                )
            // Indexes, roles and grants may change in both directions, so they have no case here.
            case .fieldTypeChanged(_, _, let old, let new) where !old.canBecome(new):
                problems.append(.typeChange(change, of: holder))
            default: break
            }
        }
        // The first loop compares with the kept schema. A field that only the current schema has
        // must keep its type too. A place that has an error already needs no second one.
        for change in changes {
            if case .fieldTypeChanged(_, _, let old, let new) = change, !old.canBecome(new),
                !problems.contains(where: { $0.place == change.place && $0.severity == .error })
            {
                problems.append(.typeChange(change, of: "development"))
            }
        }
        self.problems = problems
    }
}

extension SchemaPlan {
    /// Plans the import of a schema file into development.
    ///
    /// Everything that production has must stay, and no field of development changes its type. All
    /// else may be added or removed.
    public static func importing(
        _ file: Schema,
        into development: Schema,
        production: Schema,
        limits: Limits = Limits()
    ) -> SchemaPlan {
        SchemaPlan(
            from: development,
            to: file,
            keeping: production,
            of: "production",
            remedy: "Production only grows: put it back into the schema.",
            limits: limits
        )
    }

    /// Plans the change of production's schema to development's.
    ///
    /// Record types and fields are only added and keep their types. Indexes, roles and grants
    /// become those of development.
    public static func promoting(
        _ development: Schema,
        to production: Schema,
        limits: Limits = Limits()
    ) -> SchemaPlan {
        SchemaPlan(
            from: production,
            to: development,
            keeping: production,
            of: "production",
            remedy: "Production only grows: add it to development's schema, then promote again.",
            limits: limits
        )
    }
}

extension SchemaProblem {
    /// Returns the problem of a field that would change its type.
    fileprivate static func typeChange(_ change: SchemaChange, of holder: String) -> SchemaProblem {
        guard case .fieldTypeChanged(let recordType, let field, let old, let new) = change else {
            return SchemaProblem(.error, change.place, "This cannot be done: \(change).", "")
        }
        return SchemaProblem(
            .error,
            change.place,
            "The field \(recordType).\(field) is \(old) in \(holder) and would become \(new).",
            "A field keeps its type: use a field of another name for the new type."
        )
    }
}

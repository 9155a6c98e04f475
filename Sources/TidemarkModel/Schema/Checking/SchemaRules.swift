// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Schema {
    /// Returns the problems of this schema, in the order of its names.
    ///
    /// An error makes a store refuse the schema; a warning does not.
    public func problems(limits: Limits = Limits()) -> [SchemaProblem] {
        var problems: [SchemaProblem] = []
        for role in roles { problems += limits.problems(of: role) }
        for recordType in recordTypes {
            problems += limits.problems(of: recordType)
            for grant in recordType.grants {
                problems += self.problems(of: grant, in: recordType.name)
            }
        }
        func count(_ number: Int, _ what: String, _ limit: Int) {
            guard number > limit else { return }
            problems.append(
                SchemaProblem(
                    .error,
                    .schema,
                    "The schema has \(number) \(what); at most \(limit) are allowed.",
                    "Remove some, or raise the limit."
                )
            )
        }
        count(roles.count, "roles", limits.rolesPerSchema)
        count(recordTypes.count, "record types", limits.recordTypesPerSchema)
        return problems
    }

    private func problems(of grant: Grant, in recordType: Name) -> [SchemaProblem] {
        let place = Place.grant(recordType, grant.role)
        guard knows(grant.role) else {
            return [
                SchemaProblem(
                    .error,
                    place,
                    "Record type \(recordType) grants \(grant.permissions) to the role "
                        + "\(grant.role), which does not exist.",
                    "Add CREATE ROLE \(SchemaWords.name(grant.name)), or name another role."
                )
            ]
        }
        let idle: Permissions =
            switch grant.role {
            case .world: grant.permissions.intersection([.create, .write])
            case .creator: grant.permissions.intersection(.create)
            default: []
            }
        guard !idle.isEmpty else { return [] }
        let reason =
            grant.role == .world
            ? "nobody writes without signing in" : "a record has no creator before it is created"
        return [
            SchemaProblem(
                .warning,
                place,
                "Record type \(recordType) grants \(idle) to \"\(grant.role)\", which allows "
                    + "nothing: \(reason).",
                "Grant it to \"_icloud\" or to a role."
            )
        ]
    }
}

extension Limits {
    fileprivate func problems(of role: Schema.Role) -> [SchemaProblem] {
        problems(of: role.name, "role", .role(role.name), isSystem: false)
    }

    fileprivate func problems(of recordType: Schema.RecordType) -> [SchemaProblem] {
        let name = recordType.name
        var problems = problems(
            of: name,
            "record type",
            .recordType(name),
            isSystem: recordType.isSystem
        )
        let own = recordType.fields.count { !$0.isSystem }
        if own > fieldsPerRecordType {
            problems.append(
                SchemaProblem(
                    .error,
                    .recordType(name),
                    "Record type \(name) has \(own) fields; at most \(fieldsPerRecordType) are "
                        + "allowed.",
                    "Split the type, or raise the limit."
                )
            )
        }
        for field in recordType.fields {
            problems += self.problems(
                of: field.name,
                "field",
                .field(name, field.name),
                // The fields of shares begin with `cloudkit.`, which is reserved in all other
                // types.
                isSystem: field.isSystem
                    || name == Schema.RecordType.share.name
                        && Schema.RecordType.share[field.name] != nil
            )
            if !field.isSystem { problems += field.typeProblems(in: name) }
        }
        return problems
    }

    /// Returns the problems of a name.
    private func problems(
        of name: Name,
        _ what: String,
        _ place: Schema.Place,
        isSystem: Bool
    ) -> [SchemaProblem] {
        func problem(
            _ severity: SchemaProblem.Severity,
            _ text: String,
            _ remedy: String
        )
            -> [SchemaProblem]
        {
            [SchemaProblem(severity, place, "The \(what) \"\(name)\" \(text).", remedy)]
        }
        if isSystem { return [] }
        if name.isReservedForSystem {
            let isField = if case .field = place { true } else { false }
            return problem(
                .error,
                "is reserved for the system",
                isField
                    ? "Use one of \(Schema.SystemField.names), or another name."
                    : "Choose another name."
            )
        }
        do throws(SyncError) {
            // Roles, record types and fields have the same rule for names.
            try check(recordType: name)
        } catch {
            return problem(
                .error,
                "is not 1 to \(identifierByteCount) ASCII letters, digits and underscores with a "
                    + "letter first",
                "Choose another name."
            )
        }
        guard name.string.utf8.contains(UInt8(ascii: ".")) else { return [] }
        return problem(
            .warning,
            "has a dot, which CloudKit does not allow in custom names",
            "Use an underscore if you want to use the schema with CloudKit."
        )
    }
}

extension Schema.Field {
    fileprivate func typeProblems(in recordType: Name) -> [SchemaProblem] {
        let place = Schema.Place.field(recordType, name)
        let what = "The field \(recordType).\(name) of type \(type)"
        if case .encrypted(let plain) = type, !Schema.DeclaredType.canEncrypt(plain) {
            return [
                SchemaProblem(
                    .error,
                    place,
                    "\(what) cannot be: assets always are encrypted, and the store must read "
                        + "references.",
                    "Declare it as \(Schema.DeclaredType.plain(plain))."
                )
            ]
        }
        return indexes.each.compactMap { index in
            switch type.use(of: index) {
            case .used: nil
            case .idle(let reason):
                SchemaProblem(
                    .warning,
                    place,
                    "\(what) is \(index), which no query can use: \(reason).",
                    "Leave \(index) out."
                )
            case .refused(let reason):
                SchemaProblem(
                    .error,
                    place,
                    "\(what) cannot be \(index): \(reason).",
                    "Remove \(index)."
                )
            }
        }
    }
}

extension Schema.SystemField {
    fileprivate static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

extension Name {
    /// True if an unknown name is reserved for the system.
    ///
    /// Such a name begins with an underscore or with `cloudkit.`.
    var isReservedForSystem: Bool {
        string.utf8.first == UInt8(ascii: "_") || string.utf8.starts(with: "cloudkit.".utf8)
    }
}

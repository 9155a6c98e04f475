// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query.Predicate {
    /// Returns the predicate with a user in place of `__defaultOwner__`, CloudKit's name for the
    /// caller's user.
    ///
    /// Needed where records are compared by their creator or editor, before a predicate is stored
    /// or evaluated for a user.
    public func resolvingCurrentUser(as user: UserID) -> Query.Predicate {
        switch self {
        case .always, .never, .words, .distance: self
        case .and(let parts): .and(parts.map { $0.resolvingCurrentUser(as: user) })
        case .or(let parts): .or(parts.map { $0.resolvingCurrentUser(as: user) })
        case .not(let part): .not(part.resolvingCurrentUser(as: user))
        case .comparison(let comparison): .comparison(comparison.resolvingCurrentUser(as: user))
        }
    }
}

extension Query.Comparison {
    fileprivate func resolvingCurrentUser(as user: UserID) -> Query.Comparison {
        guard key == .system(.creatorUserRecordID) || key == .system(.lastModifiedUserRecordID),
            case .value(let value) = operand
        else { return self }
        func resolved(_ link: Reference) -> Reference {
            link.name == UserID.current.name ? Reference(recordName: user.userRecordName) : link
        }
        // A text for one of these keys became a reference when the comparison was created.
        switch value {
        case .reference(let link):
            let operand = Query.Operand.value(.reference(resolved(link)))
            return Query.Comparison(key, relation, operand, options: options)
        case .referenceList(let links):
            let operand = Query.Operand.value(.referenceList(links.map(resolved)))
            return Query.Comparison(key, relation, operand, options: options)
        default: return self
        }
    }
}

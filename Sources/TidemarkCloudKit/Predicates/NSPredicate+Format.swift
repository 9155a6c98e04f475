// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

// Foundation on Linux declares predicates with formats, and marks them as unavailable. These
// initializers are chosen in their place: their arguments are of any type, because dates, places
// and references are not C variable arguments there.

extension NSPredicate {
    /// Parses a predicate; `%@`, `%K`, `%d`, `%f` and the others stand for the arguments, in their
    /// order.
    ///
    /// A text that is not a predicate stops the program. A query refuses unsupported constructs
    /// with `invalidArguments`.
    public convenience init(format predicateFormat: String, _ args: Any?...) {
        self.init(PredicateTree(predicateFormat, args))
    }

    /// Parses a predicate; `%@`, `%K`, `%d`, `%f` and the others stand for the array's elements, in
    /// their order.
    ///
    /// A text that is not a predicate stops the program. A query refuses unsupported constructs
    /// with `invalidArguments`.
    public convenience init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        self.init(PredicateTree(predicateFormat, arguments ?? []))
    }

    /// Creates a predicate from which a query can get the tree again.
    ///
    /// Foundation's predicates have no property for a tree. A block can carry it: the block passes
    /// the tree to a probe, and evaluates it for any other object.
    convenience init(_ tree: PredicateTree) {
        self.init(block: { object, bindings in
            if let probe = bindings?[PredicateProbe.name] as? PredicateProbe {
                probe.tree = tree
                return true
            }
            return tree.isFulfilled(by: object)
        })
    }
}

/// The object on which a query evaluates a predicate to get the predicate's tree.
private final class PredicateProbe {
    static let name = "tidemarkProbe"
    var tree: PredicateTree?
}

/// The tree of a Foundation predicate for a query, or the error if there is none.
struct PredicateTree: Sendable {
    let content: Result<Query.Predicate, SyncError>

    init(_ predicate: Query.Predicate) {
        content = .success(predicate)
    }

    init(refusal: SyncError) {
        content = .failure(refusal)
    }

    /// Parses a text, and stops the program if it is not a predicate.
    init(_ format: String, _ arguments: [Any?]) {
        var operands: [Query.Operand] = []
        var unsupported: String?
        for argument in arguments {
            do throws(UnsupportedArgument) {
                operands.append(try Query.Operand(argument))
            } catch {
                unsupported = unsupported ?? error.type
                operands.append(.null)
            }
        }
        do throws(Query.Predicate.FormatRefusal) {
            // Before the arguments: a text that is not a predicate stops the program whatever they
            // are, while an unsupported argument only fails the query.
            let predicate = try Query.Predicate.reading(format, operands)
                .inMeters(TidemarkCloud.distanceUnit)
            if let unsupported {
                let refusal = SyncError(
                    .invalidArguments,
                    "The predicate \"\(format)\" was rejected: queries cannot compare with a value "
                        + "of type \(unsupported)."
                )
                content = .failure(refusal)
            } else {
                content = .success(predicate)
            }
        } catch {
            precondition(!error.isSyntax, error.error.message)
            content = .failure(error.error)
        }
    }

    /// Determines the tree of a predicate.
    init(_ predicate: NSPredicate) {
        if let compound = predicate as? NSCompoundPredicate {
            self.init(compound)
            return
        }
        // Before the probe: these predicates have no block.
        if predicate.isEqual(NSPredicate(value: true)) {
            self.init(.always)
            return
        }
        if predicate.isEqual(NSPredicate(value: false)) {
            self.init(.never)
            return
        }
        let probe = PredicateProbe()
        _ = predicate.evaluate(with: nil, substitutionVariables: [PredicateProbe.name: probe])
        let refusal = SyncError(
            .invalidArguments,
            "Queries cannot evaluate predicates that are blocks. Use NSPredicate(format:)."
        )
        self = probe.tree ?? PredicateTree(refusal: refusal)
    }

    private init(_ compound: NSCompoundPredicate) {
        var parts: [Query.Predicate] = []
        for part in compound.subpredicates {
            switch PredicateTree(part).content {
            case .success(let predicate): parts.append(predicate)
            case .failure(let error):
                self.init(refusal: error)
                return
            }
        }
        switch compound.compoundPredicateType {
        case .and: self.init(parts.count == 1 ? parts[0] : .and(parts))
        case .or: self.init(parts.count == 1 ? parts[0] : .or(parts))
        case .not: self.init(.not(parts.first ?? .never))
        }
    }

    /// The predicate for the service.
    ///
    /// Throws `invalidArguments` for constructs that queries do not support.
    var predicate: Query.Predicate {
        get throws(CKError) {
            try content.mapError { CKError($0) }.get()
        }
    }
}

extension PredicateTree {
    /// Returns true if the object is a record that fulfils the predicate.
    fileprivate func isFulfilled(by object: Any?) -> Bool {
        guard let record = object as? CKRecord, let predicate = try? content.get(),
            let matcher = try? Query.Matcher(predicate, now: (try? Date().milliseconds) ?? 0),
            let body = record.unsavedBody
        else { return false }
        return matcher.matches(body)
    }
}

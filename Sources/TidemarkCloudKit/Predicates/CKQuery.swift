// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock
import TidemarkModel

/// A search for records of one type, with their order.
///
/// Unchecked: the mutable state is behind a lock, and predicates do not change.
open class CKQuery: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The type of the records.
    public let recordType: CKRecord.RecordType
    /// The condition that a record must fulfil.
    public let predicate: NSPredicate

    private let tree: PredicateTree
    private let order: Lock<Order>

    /// Unchecked: sort descriptors do not change.
    private struct Order: @unchecked Sendable {
        var descriptors: [NSSortDescriptor]?
    }

    /// Creates a query for the records of a type that fulfil a predicate.
    ///
    /// A predicate that queries do not support is refused when the query is run.
    public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        self.recordType = recordType
        self.predicate = predicate
        // Determined once, because it evaluates the predicate's block.
        tree = PredicateTree(predicate)
        order = Lock(Order())
    }

    /// The order of the results: by the first, then by the second, and so on.
    open var sortDescriptors: [NSSortDescriptor]? {
        get { order.withLock { $0 }.descriptors }
        set {
            let new = Order(descriptors: newValue)
            order.withLock { $0 = new }
        }
    }

    /// Returns a query with the same content.
    open func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuery(recordType: recordType, predicate: predicate)
        copy.sortDescriptors = sortDescriptors
        return copy
    }

    /// The type and the predicate.
    open override var description: String {
        let text =
            switch tree.content {
            case .success(let predicate): "\(predicate)"
            case .failure(let error): error.message
            }
        return "<CKQuery: recordType=\(recordType), predicate=\(text)>"
    }

    // MARK: Coding

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the query.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: QueryArchive(recordType, tree, sortDescriptors))
    }

    // Apple's does not fail; an archive may contain anything.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Reads a query.
    public required init!(coder aDecoder: NSCoder) {
        guard let archive = aDecoder.archive(of: QueryArchive.self) else { return nil }
        recordType = archive.recordType
        tree = archive.tree
        predicate = NSPredicate(tree)
        order = Lock(Order(descriptors: archive.sortDescriptors))
    }

    // MARK: The service

    /// The query for the service.
    ///
    /// Throws `invalidArguments` for constructs that queries do not support.
    var model: Query {
        get throws(CKError) {
            var descriptors: [Query.SortDescriptor] = []
            for descriptor in sortDescriptors ?? [] { descriptors.append(try descriptor.model) }
            return Query(
                recordType: recordType,
                predicate: try tree.predicate,
                sortDescriptors: descriptors
            )
        }
    }
}

/// A query as it is archived.
struct QueryArchive: Codable, Equatable {
    var recordType: String
    /// The predicate's text; `nil` for one that queries do not have.
    var predicate: String?
    /// The reason why there is no text.
    var refusal: String?
    var order: [String]?

    init(_ recordType: String, _ tree: PredicateTree, _ descriptors: [NSSortDescriptor]?) {
        self.recordType = recordType
        switch tree.content {
        case .success(let content): predicate = content.description
        case .failure(let error): refusal = error.message
        }
        order = descriptors?.compactMap { try? $0.model.description }
        if order?.count != descriptors?.count {
            // Without a criterion the query would find its records in another order.
            predicate = nil
            refusal = refusal ?? "The query has a sort descriptor that queries do not have."
        }
    }

    /// The predicate as a query uses it.
    var tree: PredicateTree {
        if let predicate, sortDescriptors?.count == order?.count,
            let content = try? Query.Predicate(written: predicate)
        {
            return PredicateTree(content)
        }
        return PredicateTree(
            refusal: SyncError(
                .invalidArguments,
                refusal
                    ?? "The archived query has a predicate or an order that this version cannot read."
            )
        )
    }

    /// The order.
    var sortDescriptors: [NSSortDescriptor]? {
        order?.compactMap { try? Query.SortDescriptor(text: $0) }.map { NSSortDescriptor.make($0) }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// The end of a page of a query.
///
/// Programs write `CKQueryOperation.Cursor`.
///
/// Unchecked: immutable.
open class CKQueryCursor: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The query, its zone, and the end of the page.
    let request: QueryRequest

    init(_ request: QueryRequest, endedAt page: QueryPageCursor) {
        var next = request
        next.cursor = page
        // They belong to the operation that continues, and are not archived.
        next.limit = nil
        next.desiredKeys = nil
        self.request = next
    }

    /// Returns true if the other cursor continues the same query at the same place.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKQueryCursor)?.request == request
    }

    /// Follows from the place.
    open override var hash: Int { request.cursor.hashValue }

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    private struct Archive: Codable {
        var recordType: String
        var predicate: String
        var order: [String]
        var zone: CKRecordZoneID.Archive?
        var page: Data
    }

    /// Writes the query and the place.
    open func encode(with coder: NSCoder) {
        // Limit and fields are left out: they belong to the operation that continues.
        let query = request.query
        coder.encode(
            archive: Archive(
                recordType: query.recordType,
                predicate: query.predicate.description,
                order: query.sortDescriptors.map(\.description),
                zone: request.zone.map { CKRecordZoneID($0).archived },
                page: Data(request.cursor?.bytes ?? [])
            )
        )
    }

    /// Reads a query and the end of a page.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self),
            let predicate = try? Query.Predicate(written: archive.predicate)
        else { return nil }
        let order = archive.order.compactMap { try? Query.SortDescriptor(text: $0) }
        // The end of a page is a place in the whole order, so no criterion may be lost.
        guard order.count == archive.order.count else { return nil }
        let query = Query(
            recordType: archive.recordType,
            predicate: predicate,
            sortDescriptors: order
        )
        request = QueryRequest(
            query,
            in: archive.zone.map { CKRecordZoneID($0).model },
            after: QueryPageCursor(bytes: Array(archive.page))
        )
    }
}

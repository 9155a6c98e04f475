// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A request for one page of the records that fulfil a query.
public struct QueryRequest: Hashable, Codable, Sendable {
    /// The search, with its order.
    public var query: Query
    /// The zone to search; `nil` for every zone of the database, which a shared database does not
    /// allow.
    public var zone: ZoneID?
    /// The end of the previous page of the same query; `nil` starts with the first page.
    public var cursor: QueryPageCursor?
    /// The maximum number of records to return; `nil` for ``Limits/recordsPerQueryPage``.
    public var limit: Int?
    /// The names of the fields to answer; `nil` for all of them.
    public var desiredKeys: [String]?

    /// Creates a request.
    public init(
        _ query: Query,
        in zone: ZoneID? = nil,
        after cursor: QueryPageCursor? = nil,
        limit: Int? = nil,
        desiredKeys: [String]? = nil
    ) {
        self.query = query
        self.zone = zone
        self.cursor = cursor
        self.limit = limit
        self.desiredKeys = desiredKeys
    }
}

/// The end of a page of a query: opaque, for the next request.
public struct QueryPageCursor: Hashable, Sendable {
    /// The content, which clients may keep and send back.
    public let bytes: [UInt8]

    /// Wraps bytes that a store returned.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }
}

/// One page of the results of a query.
public struct QueryPageResult: Hashable, Codable, Sendable {
    /// The records, in the query's order.
    public let records: [Record]
    /// The start of the next page; `nil` if there is none.
    public let cursor: QueryPageCursor?

    /// Collects an answer.
    public init(records: [Record], cursor: QueryPageCursor?) {
        self.records = records
        self.cursor = cursor
    }
}

extension QueryPageCursor: CodedAsText {
    var codedText: String { description }

    /// Reads base64url without padding.
    public init(from decoder: any Decoder) throws { self = try Self.decoded(from: decoder) }

    /// Writes base64url without padding.
    public func encode(to encoder: any Encoder) throws { try encodeText(to: encoder) }
}

extension QueryPageCursor: CustomStringConvertible {
    /// Reads a printed cursor; `nil` if the text is not the form of one.
    public init?(_ text: String) {
        guard let bytes = Base64.bytes(ofURLText: text.utf8) else { return nil }
        self.init(bytes: bytes)
    }

    /// The bytes in base64url without padding.
    public var description: String { Base64.urlText(of: bytes[...]) }
}

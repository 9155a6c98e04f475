// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Values as JSON: how the requests and answers of a service's methods are written.
///
/// Members are in the order of their names, so that equal values have equal bytes.
package enum WireCoding {
    package static func bytes(of value: some Encodable) throws(SyncError) -> [UInt8] {
        let encoder = JSONEncoder()
        // Without an order, `JSONEncoder` writes members differently in each process, and the
        // golden files would not match.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw SyncError(.invalidArguments, "The value cannot be sent: \(error)")
        }
    }

    package static func value<Value: Decodable>(
        _ type: Value.Type,
        from bytes: [UInt8]
    ) throws(DecodingError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch let error as DecodingError {
            throw error
        } catch {
            let context = DecodingError.Context(codingPath: [], debugDescription: "\(error)")
            throw .dataCorrupted(context)
        }
    }
}

extension SyncError {
    /// Returns the error for bytes of the other side that this version cannot read.
    package static func unreadable(_ message: String) -> SyncError {
        SyncError(.internalError, message, remedy: "Compare the versions of client and server.")
    }
}

extension DecodingError {
    /// The invalid member and the cause, without any values.
    package var summary: String {
        let context: Context
        switch self {
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found):
            context = found
        case .keyNotFound(let key, let found):
            return "at \(Self.place(found.codingPath)): the member '\(key.stringValue)' is missing"
        @unknown default: return "the bytes cannot be read"
        }
        // Some descriptions are sentences, and what the summary is part of ends with its own stop.
        var cause = context.debugDescription
        if cause.hasSuffix(".") { cause.removeLast() }
        return "at \(Self.place(context.codingPath)): \(cause)"
    }

    private static func place(_ path: [any CodingKey]) -> String {
        path.isEmpty ? "the top" : path.map(\.stringValue).joined(separator: ".")
    }
}

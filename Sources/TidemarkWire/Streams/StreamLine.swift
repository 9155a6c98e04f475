// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A line of a stream between a server and a client (Docs/formats/wire.md): one JSON value, and a
/// line feed.
///
/// An empty line confirms the connection. A stream that ends without a last line was interrupted.
package enum StreamLine<Element: Codable & Sendable>: Sendable {
    /// The next element.
    case element(Element)
    /// The last line: the service was closed.
    case end
    /// The last line: the stream failed.
    case failure(SyncError)

    private struct Form: Codable {
        var element: Element?
        var failure: SyncError?
        var isEnd: Bool?
    }

    /// Returns the line's bytes, with the line feed.
    package func bytes() throws(SyncError) -> [UInt8] {
        let form =
            switch self {
            case .element(let element): Form(element: element)
            case .end: Form(isEnd: true)
            case .failure(let error): Form(failure: error)
            }
        return try WireCoding.bytes(of: form) + [UInt8(ascii: "\n")]
    }

    /// Reads a line without its line feed.
    package init(_ line: [UInt8]) throws(SyncError) {
        let form: Form
        do throws(DecodingError) {
            form = try WireCoding.value(Form.self, from: line)
        } catch {
            throw .unreadable("A line of the stream cannot be read: \(error.summary).")
        }
        if let element = form.element {
            self = .element(element)
        } else if let failure = form.failure {
            self = .failure(failure)
        } else {
            // Also for a line whose members are all unknown: the client must not wait for elements
            // that it cannot read.
            self = .end
        }
    }
}

/// A splitter of bytes that arrive in pieces into lines.
package struct LineSplitter: Sendable {
    private var waiting: [UInt8] = []
    /// The number of bytes of `waiting` without a line feed.
    private var searched = 0

    /// The most bytes that a line may have.
    package static let lineByteLimit = 4 << 20

    /// Starts without bytes.
    package init() {}

    /// Appends bytes.
    ///
    /// Throws `internalError` if a line is too long.
    package mutating func append(_ piece: [UInt8]) throws(SyncError) {
        waiting += piece
        // The limit is for one line. Several lines may arrive together and exceed it.
        guard waiting.count <= Self.lineByteLimit || waiting.contains(UInt8(ascii: "\n")) else {
            throw SyncError(
                .internalError,
                "A line of the stream has more than \(Self.lineByteLimit) bytes."
            )
        }
    }

    /// Returns the next whole line, without its line feed; `nil` until more bytes arrive.
    package mutating func next() -> [UInt8]? {
        // Bytes are searched once, also if a long line arrives in many pieces.
        guard let end = waiting[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = waiting.count
            return nil
        }
        let line = Array(waiting[..<end])
        waiting.removeSubrange(...end)
        searched = 0
        return line
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore
import Tidemark
import TidemarkLock
import TidemarkModel

/// The pages of notifications that the streams of one user read at the same time.
///
/// A notification wakes all streams of its user, and most of them are at one position. The first one
/// reads the page and writes its events; the others send the same bytes.
final class SharedPages: Sendable {
    /// A page, and its notifications as events of a stream.
    ///
    /// An object, with what a stream needs of each line in lists: a stream that copied the page and
    /// its lines would count dozens of references, to objects that all streams use.
    final class SharedPage: Sendable {
        let page: PushPage
        /// The event of each line.
        private let events: [ByteBuffer]
        /// The client that caused each line, which does not get it.
        private let origins: [PushPage.Origin]
        /// The position after each line.
        private let tokens: [ChangeToken]
        /// All events, one after another.
        private let whole: ByteBuffer

        fileprivate init(_ page: PushPage) {
            self.page = page
            events = page.lines.map { .event("notification", $0.payload, $0.token) }
            origins = page.lines.map(\.origin)
            tokens = page.lines.map(\.token)
            var whole = ByteBuffer()
            for event in events { whole.writeImmutableBuffer(event) }
            self.whole = whole
        }

        /// Returns the events for a client, with the position after the last one; `nil` if there is
        /// none for it.
        func events(for caller: Caller) -> (events: ByteBuffer, count: Int, token: ChangeToken)? {
            var count = 0
            var last = 0
            for index in origins.indices where !origins[index].isClient(of: caller) {
                count += 1
                last = index
            }
            guard count > 0 else { return nil }
            guard count < events.count else { return (whole, count, tokens[last]) }
            var buffer = ByteBuffer()
            for index in origins.indices where !origins[index].isClient(of: caller) {
                buffer.writeImmutableBuffer(events[index])
            }
            return (buffer, count, tokens[last])
        }
    }

    private struct Key: Hashable {
        let collection: DatabaseID
        let start: ChangeToken
    }

    private struct State {
        var pages: [Key: SharedPage] = [:]
        /// The number of times that the pages were dropped.
        var dropCount = 0
    }

    private let state = Lock(State())
    /// The most pages that are kept: streams that fell behind are at positions of their own.
    private static let limit = 64

    /// Drops all pages, because there are new notifications.
    ///
    /// This must happen before the streams are woken: a page that was read earlier lacks them.
    func dropAll() {
        state.withLock { state in
            state.pages = [:]
            state.dropCount += 1
        }
    }

    /// Returns the page after a position, which is read unless another stream has read it.
    func page(
        since start: ChangeToken,
        of collection: DatabaseID,
        _ read: () async throws(SyncError) -> PushPage
    ) async throws(SyncError) -> SharedPage {
        let key = Key(collection: collection, start: start)
        let (known, dropCount) = state.withLock { ($0.pages[key], $0.dropCount) }
        if let known { return known }
        let page = SharedPage(try await read())
        state.withLock { state in
            // Notifications that were made during the read may be missing in the page.
            guard state.dropCount == dropCount, state.pages.count < Self.limit else { return }
            state.pages[key] = page
        }
        return page
    }
}

extension ByteBuffer {
    /// Returns an event, whose id is the position after it.
    static func event(_ name: StaticString, _ data: [UInt8], _ token: ChangeToken) -> ByteBuffer {
        let id = token.description
        var buffer = ByteBuffer()
        // 64 bytes for the names of the lines and the event.
        buffer.reserveCapacity(id.utf8.count + data.count + 64)
        buffer.writeString("id: \(id)\nevent: ")
        buffer.writeStaticString(name)
        buffer.writeString("\ndata: ")
        buffer.writeBytes(data)
        buffer.writeString("\n\n")
        return buffer
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// A handler that closes connections whose request bodies arrive too slowly.
///
/// The bodies of assets are exempt: the server reads them only with a signed address or a valid
/// credential.
final class BodyDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// The error for a body that did not arrive in time.
    struct Passed: Error {}

    private let time: TimeAmount
    private var deadline: Scheduled<Void>?
    /// The request whose head, but not whose end, arrived in the current read.
    private var begun: HTTPRequest?
    /// True once a body was abandoned: the bytes after it are not read as another request.
    private var isOver = false

    init(_ time: Duration) {
        self.time = TimeAmount(time)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): begun = head
        case .body: break
        case .end:
            begun = nil
            stop()
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Most requests arrive whole, in one read, and need no timer.
        if let head = begun {
            begun = nil
            if !Self.isUpload(head) { start(context) }
        }
        context.fireChannelReadComplete()
    }

    private func start(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: time) {
            let (handler, context) = bound.value
            handler.isOver = true
            context.fireErrorCaught(Passed())
        }
    }

    private func stop() {
        deadline?.cancel()
        deadline = nil
    }

    /// Returns true if a route that receives assets answers a request.
    ///
    /// Other routes may read a body before they check who sent it.
    private static func isUpload(_ head: HTTPRequest) -> Bool {
        // As bytes: grouping a target into characters is slow.
        let path = (head.path ?? "").utf8.prefix { $0 != UInt8(ascii: "?") }
        if path.starts(with: "/assets/up/".utf8) {
            return head.method == .post || head.method == .put
        }
        // `/tidemark/1/CONTAINER/ENVIRONMENT/DATABASE/uploadAsset`
        return head.method == .post && path.starts(with: "/tidemark/1/".utf8)
            && path.reversed().starts(with: "/uploadAsset".utf8.reversed())
            && path.count { $0 == UInt8(ascii: "/") } == 6
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }
}
#endif

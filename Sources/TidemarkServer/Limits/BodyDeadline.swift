// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// A handler that closes connections whose request bodies arrive too slowly.
///
/// The bodies of assets are exempt: only users get their addresses.
final class BodyDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// The error for a body that did not arrive in time.
    struct Passed: Error {}

    private let time: TimeAmount
    private var deadline: Scheduled<Void>?
    /// True once a body was abandoned: the bytes after it are not read as another request.
    private var isOver = false

    init(_ time: Duration) {
        self.time = TimeAmount(time)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(let head) where !Self.isUpload(head.path ?? ""):
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            deadline = context.eventLoop.scheduleTask(in: time) {
                let (handler, context) = bound.value
                handler.isOver = true
                context.fireErrorCaught(Passed())
            }
        case .end:
            deadline?.cancel()
            deadline = nil
        case .head, .body: break
        }
        context.fireChannelRead(data)
    }

    /// Returns true if a request to a path may have the body of an asset.
    private static func isUpload(_ target: String) -> Bool {
        // As bytes: grouping a target into characters is slow.
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        return path.starts(with: "/assets/".utf8)
            || path.reversed().starts(with: "/uploadAsset".utf8.reversed())
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
    }
}
#endif

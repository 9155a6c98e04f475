// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// A handler that tells a client to send the body that it holds back.
///
/// A client with `Expect: 100-continue` waits for that before it sends a large body: curl for a
/// second, others for longer.
final class ContinueAnswer: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The requests whose answers have not been sent to their end.
    private var openCount = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            // Behind another request, the text could stand in the middle of that one's answer. The
            // client then sends its body without having been told.
            if openCount == 0, head.headerFields[.expect]?.lowercased() == "100-continue" {
                let answer = HTTPResponse(status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
            }
            openCount += 1
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { openCount -= 1 }
        context.write(data, promise: promise)
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore
import NIOHTTPTypes

/// A handler that closes connections whose client does not take its answer.
///
/// The idle time of a connection does not pass while an answer is sent. Without this limit, a client
/// that stops reading a download or a stream would hold a connection and a file for ever.
final class AnswerDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private let time: TimeAmount
    private var deadline: Scheduled<Void>?

    init(_ time: Duration) {
        self.time = TimeAmount(time)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // A channel becomes writable again when the client has taken most of what waits for it. One
        // that takes a byte now and then gains no more time.
        stop()
        if !context.channel.isWritable {
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            deadline = context.eventLoop.scheduleTask(in: time) {
                bound.value.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    private func stop() {
        deadline?.cancel()
        deadline = nil
    }
}
#endif

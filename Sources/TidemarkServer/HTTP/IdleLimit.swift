// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore

/// Closes a connection with TLS that has no request for a time: one without a handshake, one that sends no
/// request after it, and one of HTTP/2 without an open stream.
///
/// Hummingbird measures the idle time of connections from the end of the handshake on. It asks a client of
/// HTTP/2 to agree to the end, and waits for the answer. So this limit is somewhat longer.
final class IdleLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let time: TimeAmount
    private var deadline: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    /// The open streams, or the one connection of HTTP/1.1, which has its own limit.
    private var openCount = 0

    init(_ idleTime: TimeAmount) {
        time = idleTime + min(idleTime, .seconds(10))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        begin()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        self.context = nil
    }

    /// Records that a stream has opened, or that the connection is one of HTTP/1.1.
    ///
    /// Called on the connection's event loop, as all of it.
    func open() {
        openCount += 1
        deadline?.cancel()
        deadline = nil
    }

    /// Records that a stream has ended.
    func close() {
        openCount -= 1
        if openCount == 0 { begin() }
    }

    private func begin() {
        guard let context else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: time) {
            bound.value.close(promise: nil)
        }
    }

    /// The limit of the connection that a channel is, or is a stream of; `nil` without TLS.
    static func of(_ channel: any Channel) -> IdleLimit? {
        let connection = channel.parent?.parent == nil ? channel : channel.parent ?? channel
        return try? connection.pipeline.syncOperations.handler(type: IdleLimit.self)
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// A handler that serves clients of HTTP/1.0, such as ApacheBench, one request for each connection.
///
/// Such a client takes the end of the connection for the end of the answer, unless the server offers to go on
/// (RFC 9112, section 9.3), and knows neither chunks nor `100-continue`. The handlers behind this one see no
/// version. So this one sets the field with which later clients ask for the end, and the version of the answer.
/// Clients do not change their version, so the handler goes away if the first request has a later one.
final class OldVersionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private init() {}

    /// Adds a handler to a connection of HTTP/1; does nothing for a stream of HTTP/2.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations) {
        guard let codec = try? pipeline.handler(type: HTTP1ToHTTPServerCodec.self) else { return }
        try? pipeline.addHandler(OldVersionHandler(), position: .before(codec))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        guard head.version.major == 1, head.version.minor == 0 else {
            context.fireChannelRead(data)
            return context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        head.headers.remove(name: "expect")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        // Without a length, the end of the connection then ends the body.
        head.version = .http1_0
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

/// A handler that ends a connection of HTTP/1.0 after its first answer.
///
/// Such a client, ApacheBench for one, takes the end of the connection for the end of the answer, unless the
/// server offers to go on (RFC 9112, section 9.3). The handlers behind this one see no version, so this one
/// sets the field with which later clients ask for the same. A connection keeps its version, so the handler
/// goes away after the head of the first request.
final class OldVersionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private init() {}

    /// Adds a handler to a connection, unless that has no version below 1.1, as a stream of HTTP/2.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations) {
        guard let codec = try? pipeline.handler(type: HTTP1ToHTTPServerCodec.self) else { return }
        try? pipeline.addHandler(OldVersionHandler(), position: .before(codec))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        if head.version.major == 1, head.version.minor == 0 {
            head.headers.replaceOrAdd(name: "connection", value: "close")
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}
#endif

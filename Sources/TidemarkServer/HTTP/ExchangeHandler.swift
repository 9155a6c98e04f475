// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// A handler of the time limits of requests and answers, of bodies that nobody reads, and of
/// `Expect: 100-continue`.
///
/// - A connection whose request body arrives too slowly is closed. The bodies of assets are exempt:
///   the server reads them only with a signed address or a valid credential.
/// - A connection whose client does not take its answer is closed. The idle time of a connection does
///   not pass while an answer is sent, so a client that stops reading would keep a connection and a
///   file open.
/// - A body that is still being sent behind the last answer of a connection is read and dropped, until
///   the idle time ends the connection. Many clients read an answer only once they have sent all.
/// - A client with `Expect: 100-continue` gets the answer after which it sends its body. Without that
///   answer, curl waits for a second before it sends a large body, and others wait longer.
///
/// One handler does all of it, because every request passes through each handler of a connection.
final class ExchangeHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The error for a body that did not arrive in time.
    struct BodyTimeout: Error {}

    private let bodyTime: TimeAmount
    private let answerTime: TimeAmount
    private var bodyDeadline: Scheduled<Void>?
    private var answerDeadline: Scheduled<Void>?
    /// The request whose head, but not whose end, arrived in the current read.
    private var begun: HTTPRequest?
    /// True once a body was abandoned: the bytes after it are not read as another request.
    private var isOver = false
    /// True if the request whose end has not arrived is the last one of the connection.
    private var isLast = false
    /// True once the last answer was sent before the end of its request: the rest is dropped.
    private var drops = false
    /// The limit of the connection with TLS.
    private var idleLimit: IdleLimit?
    /// The requests whose answers have not been sent to their end.
    private var openCount = 0

    init(body: Duration, answer: Duration) {
        bodyTime = TimeAmount(body)
        answerTime = TimeAmount(answer)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        idleLimit = IdleLimit.of(context.channel)
        idleLimit?.open()
        OldVersionHandler.add(to: context.pipeline.syncOperations)
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver, !drops else { return }
        switch unwrapInboundIn(data) {
        case .head(var head):
            isLast = Self.closes(head)
            // As Hummingbird reads it, which then leaves the rest of the request alone.
            if isLast { head.headerFields[.connection] = "close" }
            begun = head
            continueIfExpected(head, context)
            openCount += 1
            return context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body: break
        case .end:
            begun = nil
            isLast = false
            stop(&bodyDeadline)
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Most requests arrive whole, in one read, and need no timer.
        if let head = begun {
            begun = nil
            if !Self.isUpload(head) { startBodyDeadline(context) }
        }
        context.fireChannelReadComplete()
        // The handlers behind this one wait with reads until someone takes what has arrived.
        if drops { context.read() }
    }

    /// Returns true if a request is the last one of its connection.
    private static func closes(_ head: HTTPRequest) -> Bool {
        guard let field = head.headerFields[.connection] else { return false }
        // A list of words without case (RFC 9110).
        return field.split { $0 == "," || $0 == " " || $0 == "\t" }
            .contains { $0.lowercased() == "close" }
    }

    private func continueIfExpected(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        // Behind another request, the text could stand in the middle of that one's answer. The
        // client then sends its body without having been told.
        guard openCount == 0, head.headerFields[.expect]?.lowercased() == "100-continue" else {
            return
        }
        let answer = HTTPResponse(status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
    }

    private func startBodyDeadline(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        bodyDeadline = context.eventLoop.scheduleTask(in: bodyTime) {
            let (handler, context) = bound.value
            handler.isOver = true
            context.fireErrorCaught(BodyTimeout())
        }
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

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            openCount -= 1
            if isLast, openCount == 0 {
                drops = true
                stop(&bodyDeadline)
                context.read()
            }
        }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // A channel becomes writable again when the client has taken most of what waits for it. One
        // that takes a byte now and then gains no more time.
        stop(&answerDeadline)
        if !context.channel.isWritable {
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            answerDeadline = context.eventLoop.scheduleTask(in: answerTime) {
                bound.value.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: End

    func channelInactive(context: ChannelHandlerContext) {
        stop(&answerDeadline)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        idleLimit?.close()
        stop(&bodyDeadline)
        stop(&answerDeadline)
    }

    private func stop(_ deadline: inout Scheduled<Void>?) {
        deadline?.cancel()
        deadline = nil
    }
}
#endif

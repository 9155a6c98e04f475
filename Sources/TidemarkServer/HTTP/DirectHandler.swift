// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTPTypes

/// The requests that a ``DirectHandler`` takes, and their answers.
struct DirectAnswers: Sendable {
    /// Returns true if a request is answered here.
    let takes: @Sendable (HTTPRequest) -> Bool
    /// Answers a request with a body from an address.
    let answer: @Sendable (HTTPRequest, ByteBuffer, SocketAddress?) async -> Response
}

/// A handler that answers some requests itself, and passes the others to Hummingbird.
///
/// Hummingbird passes each part of a request through a queue to the task of its connection, and each
/// part of an answer back. That takes longer than looking up a record. A request that arrived whole,
/// in one read, needs no queue. The limits of time, in ``ExchangeHandler`` and Hummingbird's own
/// handler, see its parts before this handler does.
///
/// Answers are sent in the order of their requests: a request is taken only if all earlier ones were
/// answered, and whatever arrives before its answer is written waits.
final class DirectHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// An event of the channel that waits until the current request is answered.
    private enum Waiting {
        case part(HTTPRequestPart)
        case event(Any)
        case error(any Error)
    }

    private let answers: DirectAnswers
    private let executor: LoopExecutor
    /// The address of the connection's other end, which the system is asked for once.
    private var address: SocketAddress?
    /// The request whose head, but not whose end, arrived in the current read.
    private var begun: (head: HTTPRequest, body: ByteBuffer?)?
    /// The task of the request that is being answered, until the connection has sent most of its
    /// answer.
    private var exchange: Task<Void, Never>?
    /// Everything that arrived during `exchange`, oldest first.
    private var waiting: [Waiting] = []
    /// True if the next read was asked for while something was waiting.
    private var isReadHeld = false
    /// True if an answer was written that the client has to take before the next request.
    private var needsRoom = false
    /// The requests that were passed on and not yet answered.
    private var passedCount = 0

    private init(_ answers: DirectAnswers, _ executor: LoopExecutor) {
        self.answers = answers
        self.executor = executor
    }

    /// Adds a handler to a connection that Hummingbird has set up for HTTP/1.1.
    static func add(
        to channel: any Channel,
        _ answers: DirectAnswers,
        _ executor: LoopExecutor
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        // Behind this one, so that it counts the requests that are taken here: it closes connections
        // that are idle, and those that have no request at a graceful shutdown.
        let counter = try pipeline.handler(type: HTTPConnectionStateHandler.self)
        try pipeline.addHandler(DirectHandler(answers, executor), position: .after(counter))
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard exchange == nil else { return waiting.append(.part(part)) }
        receive(part, context)
    }

    private func receive(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head):
            if passedCount == 0, answers.takes(head) {
                begun = (head, nil)
                return
            }
            passedCount += 1
        case .body(var buffer):
            if begun != nil {
                begun?.body.setOrWriteBuffer(&buffer)
                return
            }
        case .end:
            if let request = begun {
                begun = nil
                return begin(request.head, request.body ?? ByteBuffer(), context)
            }
        }
        context.fireChannelRead(wrapInboundOut(part))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        passBegun(context)
        context.fireChannelReadComplete()
    }

    /// Passes on a request whose end has not arrived: its body may be long, or slow.
    private func passBegun(_ context: ChannelHandlerContext) {
        guard let request = begun else { return }
        begun = nil
        passedCount += 1
        context.fireChannelRead(wrapInboundOut(.head(request.head)))
        if let body = request.body { context.fireChannelRead(wrapInboundOut(.body(body))) }
    }

    private func begin(
        _ head: HTTPRequest,
        _ body: ByteBuffer,
        _ context: ChannelHandlerContext
    ) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        address = address ?? context.remoteAddress
        let (answers, address, loop) = (answers, address, context.eventLoop)
        exchange = Task(executorPreference: executor) {
            let response = await answers.answer(head, body, address)
            let written = WrittenBody()
            // It fails for no body that is in memory.
            try? await response.body.write(written)
            let body = written.bytes ?? ByteBuffer()
            // The last step of the work may have run on another thread.
            guard loop.inEventLoop else {
                return loop.execute { bound.value.0.end(response.head, body, bound.value.1) }
            }
            bound.value.0.end(response.head, body, bound.value.1)
        }
    }

    // MARK: Answers

    private func end(
        _ head: HTTPResponse,
        _ body: ByteBuffer,
        _ context: ChannelHandlerContext
    ) {
        var head = head
        head.headerFields.append(AnswerDate.field())
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        // Otherwise a client that reads no answers could fill the memory with them.
        needsRoom = !context.channel.isWritable
        if !needsRoom { goOn(context) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { passedCount -= 1 }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if needsRoom, context.channel.isWritable {
            needsRoom = false
            goOn(context)
        }
        context.fireChannelWritabilityChanged()
    }

    /// Delivers what has waited, up to the end of the next request that is answered here.
    private func goOn(_ context: ChannelHandlerContext) {
        exchange = nil
        var count = 0
        while exchange == nil, count < waiting.count {
            let next = waiting[count]
            count += 1
            switch next {
            case .part(let part): receive(part, context)
            case .event(let event): context.fireUserInboundEventTriggered(event)
            case .error(let error): context.fireErrorCaught(error)
            }
        }
        if count > 0 {
            waiting.removeFirst(min(count, waiting.count))
            passBegun(context)
            context.fireChannelReadComplete()
        }
        if isReadHeld, waiting.isEmpty {
            isReadHeld = false
            context.read()
        }
    }

    // MARK: Events

    func read(context: ChannelHandlerContext) {
        // A client that sends requests without waiting for answers stays within one read.
        guard waiting.isEmpty else {
            isReadHeld = true
            return
        }
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The end of a client's sending side, for example, would end the connection before the
        // answer.
        guard exchange == nil else { return waiting.append(.event(event)) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard exchange == nil else { return waiting.append(.error(error)) }
        context.fireErrorCaught(error)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        // Hummingbird closes the input when a shutdown has waited long enough for answers.
        if mode == .input { exchange?.cancel() }
        context.close(mode: mode, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Nobody can receive answers. The current request is completed: it may be a save.
        waiting = []
        begun = nil
        context.fireChannelInactive()
    }
}

/// A writer that keeps the bytes of an answer.
private final class WrittenBody: ResponseBodyWriter {
    var bytes: ByteBuffer?

    func write(_ buffer: ByteBuffer) {
        var buffer = buffer
        bytes.setOrWriteBuffer(&buffer)
    }

    consuming func finish(_ trailers: HTTPFields?) {}
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore
import NIOPosix
import TidemarkLock

/// A proxy on this machine for HTTP (`CONNECT`) and SOCKS 5, which keeps its requests.
final class TestProxy: Sendable {
    let port: Int
    private let listener: any Channel
    private let requests: RequestList

    /// The requests for a tunnel.
    final class RequestList: Sendable {
        private let list = Lock([String]())

        var all: [String] { list.withLock { $0 } }

        func add(_ request: String) {
            list.withLock { $0.append(request) }
        }
    }

    /// Begins to listen; `authorization` is the value of the header that requests for HTTP must have.
    init(authorization: String? = nil) async throws {
        let requests = RequestList()
        let listener: any Channel = try await ServerBootstrap(
            group: .singletonMultiThreadedEventLoopGroup
        )
        .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(
                    TunnelHandler(requests, authorization)
                )
            }
        }
        .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
        self.listener = listener
        self.requests = requests
    }

    /// The requests so far, such as `CONNECT localhost:8080` or `SOCKS localhost:8080`.
    var asked: [String] { requests.all }

    func close() async throws {
        try await listener.close()
    }
}

/// Reads the request for a tunnel on one connection, and opens it.
private final class TunnelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let requests: TestProxy.RequestList
    private let authorization: String?
    private var received = ByteBuffer()
    private var hasTunnel = false

    init(_ requests: TestProxy.RequestList, _ authorization: String?) {
        self.requests = requests
        self.authorization = authorization
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasTunnel else {
            context.fireChannelRead(data)
            return
        }
        var piece = unwrapInboundIn(data)
        received.writeBuffer(&piece)
        let bytes = Array(received.readableBytesView)
        if bytes.first == 5 {
            readSOCKS(bytes, context.channel)
        } else if bytes.suffix(4) == Array("\r\n\r\n".utf8)[...] {
            readHTTP(String(decoding: bytes, as: UTF8.self), context.channel)
        }
    }

    private func readHTTP(_ head: String, _ channel: any Channel) {
        let lines = head.split(separator: "\r\n").map(String.init)
        let words = (lines.first ?? "").split(separator: " ").map(String.init)
        let place = (words.count == 3 ? words[1] : "").split(separator: ":").map(String.init)
        guard place.count == 2, let port = Int(place[1]) else {
            channel.close(promise: nil)
            return
        }
        requests.add("\(words[0]) \(words[1])")
        let given = lines.first { $0.lowercased().hasPrefix("proxy-authorization:") } ?? ""
        if let authorization, !given.hasSuffix(authorization) {
            let refusal =
                "HTTP/1.1 407 Proxy Authentication Required\r\n"
                + "Proxy-Authenticate: Basic realm=\"proxy\"\r\nContent-Length: 0\r\n\r\n"
            channel.writeAndFlush(ByteBuffer(string: refusal), promise: nil)
            return
        }
        open(to: place[0], port, channel, answer: Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
    }

    /// Reads the greeting of SOCKS 5, and after the answer the request for a name (RFC 1928).
    private func readSOCKS(_ bytes: [UInt8], _ channel: any Channel) {
        guard bytes.count > 1, bytes.count > 1 + Int(bytes[1]) else { return }
        let request = Array(bytes.dropFirst(2 + Int(bytes[1])))
        if request.isEmpty {
            channel.writeAndFlush(ByteBuffer(bytes: [5, 0]), promise: nil)
            return
        }
        // Version, command, reserved, kind of address, length of the name, the name, two bytes of port.
        guard request.count > 4, request.count == 7 + Int(request[4]) else { return }
        guard request[1] == 1, request[3] == 3 else {
            channel.close(promise: nil)
            return
        }
        let name = String(decoding: request[5..<5 + Int(request[4])], as: UTF8.self)
        let port = Int(request[request.count - 2]) << 8 | Int(request[request.count - 1])
        requests.add("SOCKS \(name):\(port)")
        open(to: name, port, channel, answer: [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    }

    /// Connects to the server, and tells the client, which sends nothing before.
    private func open(to name: String, _ port: Int, _ channel: any Channel, answer: [UInt8]) {
        hasTunnel = true
        ClientBootstrap(group: channel.eventLoop)
            .channelInitializer { $0.pipeline.addHandler(Forwarder(to: channel)) }
            .connect(host: name, port: port)
            .flatMap { channel.pipeline.addHandler(Forwarder(to: $0)) }
            .flatMap { channel.writeAndFlush(ByteBuffer(bytes: answer)) }
            .whenFailure { _ in channel.close(promise: nil) }
    }
}

/// Passes bytes on to another connection, which it closes with its own.
private final class Forwarder: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(to other: any Channel) {
        self.other = other
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
    }
}
#endif

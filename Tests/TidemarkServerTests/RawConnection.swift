// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore
import NIOPosix
import TidemarkLock

/// A connection to a server on which a test writes what it likes.
final class RawConnection: Sendable {
    private struct State {
        var received = ""
        var isOver = false
    }

    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let state = Lock(State())

    /// Opens a connection, and closes it behind a body.
    ///
    /// If it outlasts the end of the server's output, it ends as one of a program that reads the
    /// answer only once it has sent all.
    static func open(
        port: Int,
        outlastsOutput: Bool = false,
        _ body: @Sendable (RawConnection) async throws -> Void
    ) async throws {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.allowRemoteHalfClosure, value: outlastsOutput)
            .connect(host: "localhost", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel,
                        configuration: .init(isOutboundHalfClosureEnabled: true)
                    )
                }
            }
        let isDone = Lock(false)
        do {
            try await use(channel) { connection in
                try await body(connection)
                isDone.withLock { $0 = true }
            }
        } catch  where isDone.withLock({ $0 }) {
            // The server was first to close it.
        }
    }

    private static func use(
        _ channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>,
        _ body: @Sendable (RawConnection) async throws -> Void
    ) async throws {
        try await channel.executeThenClose { inbound, outbound in
            let connection = RawConnection(outbound)
            let reading = Task {
                // The server may end it while something is on its way there.
                do {
                    for try await piece in inbound { connection.take(piece) }
                } catch {}
                connection.state.withLock { $0.isOver = true }
            }
            defer { reading.cancel() }
            try await body(connection)
        }
    }

    private init(_ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>) {
        self.outbound = outbound
    }

    private func take(_ piece: ByteBuffer) {
        state.withLock { $0.received += String(buffer: piece) }
    }

    /// Sends a text, and returns true if the connection took it.
    ///
    /// What the server no longer takes, because it ended the connection, is lost.
    @discardableResult
    func send(_ text: String) async throws -> Bool {
        do {
            try await outbound.write(ByteBuffer(string: text))
            return true
        } catch let error as ChannelError
            where error == .ioOnClosedChannel || error == .outputClosed
        {
        } catch is IOError {}
        return false
    }

    /// Ends the direction to the server.
    func closeOutput() {
        outbound.finish()
    }

    /// Waits until a condition holds for what was received, or the server ends the connection.
    func receive(until isEnough: (String) -> Bool = { _ in false }) async throws {
        while !isOver, !isEnough(received) { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Everything that came so far.
    var received: String { state.withLock { $0.received } }
    /// True once the server has ended the connection.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// The statuses of the answers that came.
    var statuses: [Int] {
        // After the version's last digit and a space.
        received.components(separatedBy: "HTTP/1.").dropFirst()
            .compactMap { Int($0.dropFirst(2).prefix(3)) }
    }
}
#endif

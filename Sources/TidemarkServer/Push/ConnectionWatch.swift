// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The detection of closed connections while a client listens.
///
/// Nothing reads a connection while a response is written to it, so only the connection itself can
/// detect that the other side is gone. It then closes, and writing fails.
enum ConnectionWatch {
    /// The seconds for which sent bytes may stay unconfirmed, to detect a side that vanished
    /// without closing.
    private static let silence = 60

    /// Makes a connection close itself once the other side is gone.
    static func begin(on channel: any Channel) {
        if channel is any SocketOptionProvider {
            // A client that has closed its sending side does not receive either.
            channel.setOption(.allowRemoteHalfClosure, value: false).whenComplete { _ in }
            limitSilence(of: channel)
        } else if let connection = channel.parent, connection is any SocketOptionProvider {
            // The connection of an HTTP/2 stream.
            limitSilence(of: connection)
        }
    }

    private static func limitSilence(of channel: any Channel) {
        #if canImport(Darwin)
        let (name, value) = (TCP_RXT_CONNDROPTIME, silence)
        #else
        // Darwin counts this option in seconds, Linux in milliseconds.
        let (name, value) = (TCP_USER_TIMEOUT, silence * 1000)
        #endif
        let option = ChannelOptions.tcpOption(NIOBSDSocket.Option(rawValue: name))
        channel.setOption(option, value: SocketOptionValue(value)).whenComplete { _ in }
    }
}

extension Listener {
    /// Ends the listener as soon as a connection has ended.
    ///
    /// For one long answer: the connection retains this as long as it is open.
    func end(with channel: any Channel) {
        channel.closeFuture.whenComplete { [weak self] _ in self?.mark(.end) }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Hummingbird
import NIOCore

/// The context of a request: its connection.
struct ServerContext: RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    let remoteAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        remoteAddress = source.channel.remoteAddress
    }
}

extension RequestContext {
    /// The address of the connection's other end, if the context knows it.
    var address: SocketAddress? { (self as? any RemoteAddressRequestContext)?.remoteAddress }

    /// The connection, if the context knows it.
    var connection: (any Channel)? { (self as? ServerContext)?.channel }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Hummingbird
import NIOCore

/// The context of a request: the connection on which it came, and the address that it comes from.
struct ServerContext: RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    let remoteAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        remoteAddress = channel.remoteAddress
    }
}

extension RequestContext {
    /// The address of the connection's other end, if the context knows it.
    var address: String? {
        (self as? any RemoteAddressRequestContext)?.remoteAddress?.ipAddress
    }
}
#endif

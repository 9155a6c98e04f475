// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore
import TidemarkModel

/// An address of the internet protocol: four bytes, or sixteen.
struct InternetAddress: Hashable, Sendable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads the usual form, such as `192.0.2.1` or `2001:db8::1`; `nil` for any other text.
    init?(_ text: String) {
        guard let address = try? SocketAddress(ipAddress: text, port: 0) else { return nil }
        self.init(address)
    }

    /// `nil` for an address of another protocol.
    init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address):
            bytes = withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address):
            bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
        case .unixDomainSocket:
            return nil
        }
    }

    /// True for an address that is reachable from the internet.
    ///
    /// An IPv6 address that maps an IPv4 address is as public as that one.
    var isPublic: Bool {
        // Only addresses of version 6 embed one, so this calls itself once at most.
        if let inner = embedded { return inner.isPublic }
        let networks = bytes.count == 4 ? Network.reserved4 : Network.reserved6
        guard bytes.count == 4 || Network.global6.contains(self) else { return false }
        return !networks.contains { $0.contains(self) }
    }

    /// The address of version 4 to which a gateway or the system itself leads from this one; `nil`
    /// if none does.
    private var embedded: InternetAddress? {
        guard bytes.count == 16 else { return nil }
        // `::` and `::1` are in the network of compatible addresses too, but lead to no address of
        // version 4. They are not in `global6`, so they are not public.
        if Network.mapped.contains(self) || Network.translated.contains(self)
            || Network.compatible.contains(self) && bytes[12] != 0
        {
            return InternetAddress(bytes: Array(bytes[12...]))
        }
        // These are in `global6`. Without this line, `2002:7f00:1::` would count as public, and a
        // gateway could lead it to 127.0.0.1.
        if Network.sixToFour.contains(self) { return InternetAddress(bytes: Array(bytes[2..<6])) }
        return nil
    }
}

extension ServerOptions {
    /// Throws if one of the networks for webhooks is invalid.
    public func checkWebhookNetworks() throws {
        for text in webhookNetworks { _ = try Network(text) }
    }
}

/// The addresses with the same first bits.
struct Network: Hashable, Sendable {
    private let bytes: [UInt8]
    private let bitCount: Int

    private init(_ bytes: [UInt8], _ bitCount: Int) {
        self.bytes = bytes
        self.bitCount = bitCount
    }

    /// Reads `ADDRESS/BITS`, such as `10.0.0.0/8`.
    init(_ text: String) throws {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let address = InternetAddress(parts[0]), let count = Int(parts[1]),
            (0...8 * address.bytes.count).contains(count)
        else {
            throw SyncError(
                .invalidArguments,
                "\"\(text)\" is not a network.",
                remedy: "Write ADDRESS/BITS, such as 10.0.0.0/8 or fd00::/8."
            )
        }
        self.init(address.bytes, count)
    }

    func contains(_ address: InternetAddress) -> Bool {
        guard address.bytes.count == bytes.count else { return false }
        let whole = bitCount / 8
        guard address.bytes[..<whole] == bytes[..<whole] else { return false }
        let rest = bitCount % 8
        return rest == 0 || (address.bytes[whole] ^ bytes[whole]) >> UInt8(8 - rest) == 0
    }

    /// Returns the network of version 4 whose address has the given bytes first.
    private static func v4(_ first: [UInt8], _ bitCount: Int) -> Network {
        Network(first + [UInt8](repeating: 0, count: 4 - first.count), bitCount)
    }

    private static func v6(_ first: [UInt8], _ bitCount: Int) -> Network {
        Network(first + [UInt8](repeating: 0, count: 16 - first.count), bitCount)
    }

    /// The networks of version 4 that are not public: RFC 6890 and its successors.
    fileprivate static let reserved4 = [
        // In order: this network, private, carriers' translation, loopback, link-local, private,
        // protocol assignments, documentation, relays of 6to4, private, benchmarks, documentation
        // twice, multicast, reserved with broadcast.
        v4([0], 8), v4([10], 8), v4([100, 64], 10), v4([127], 8), v4([169, 254], 16),
        v4([172, 16], 12), v4([192, 0, 0], 24), v4([192, 0, 2], 24), v4([192, 88, 99], 24),
        v4([192, 168], 16), v4([198, 18], 15), v4([198, 51, 100], 24), v4([203, 0, 113], 24),
        v4([224], 4), v4([240], 4),
    ]

    /// The network of version 6 that is public, but for the reserved ones in it.
    fileprivate static let global6 = v6([0x20], 3)
    fileprivate static let reserved6 = [
        // Protocol assignments, which include Teredo, and the two networks for documentation.
        v6([0x20, 0x01, 0], 23), v6([0x20, 0x01, 0x0D, 0xB8], 32), v6([0x3F, 0xFF], 20),
    ]

    fileprivate static let compatible = v6([], 96)
    fileprivate static let mapped = v6([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96)
    fileprivate static let translated = v6([0, 0x64, 0xFF, 0x9B], 96)
    fileprivate static let sixToFour = v6([0x20, 0x02], 16)
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
import Foundation
import TidemarkModel

/// The key that signs the tokens, addresses and receipts of a server.
///
/// It is in its own file next to the log, so that a backup does not contain it. A restored or
/// forked store gets a new key, and all earlier signatures become invalid.
struct ServerSecret: Sendable {
    /// A code that has taken the key and nothing else; copying it costs less than taking the key.
    private let keyed: HMAC<SHA256>
    private static let byteCount = 32
    // RFC 2104 allows truncating a code to half of the hash, which keeps tokens short.
    private static let macByteCount = 16

    init(key: SymmetricKey = SymmetricKey(size: .bits256)) {
        keyed = HMAC(key: key)
    }

    private static func path(inStoreAt folder: String) -> String { folder + "/server.key" }

    /// Returns true if a store's folder has a key.
    static func isThere(inStoreAt folder: String) -> Bool {
        FileManager.default.fileExists(atPath: path(inStoreAt: folder))
    }

    /// Reads the key's file in a store's folder; creates one if there is none.
    ///
    /// Throws `internalError` for a file that is not a key. It is not replaced, because a new key
    /// ends all sessions and changes the secrets of webhooks.
    init(inStoreAt folder: String) throws {
        let path = Self.path(inStoreAt: folder)
        if Self.isThere(inStoreAt: folder) {
            self.init(key: SymmetricKey(data: try Self.read(path)))
            return
        }
        // The folder is not synced. If a stop of the machine loses the file, the next start makes another
        // key: sessions end, and webhooks get other secrets, but no data is lost.
        let key = SymmetricKey(size: .bits256)
        try Self.write(key.withUnsafeBytes { Data($0) }, to: path, inStoreAt: folder)
        self.init(key: key)
    }

    private static func read(_ path: String) throws -> Data {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw SyncError(
                .internalError,
                "The server's key in \(path) cannot be read: \(error)",
                remedy: "Let the server's user read the file."
            )
        }
        guard bytes.count == byteCount else {
            throw SyncError(
                .internalError,
                "The server's key in \(path) must have \(byteCount) bytes; it has \(bytes.count).",
                remedy:
                    "Restore the file from a copy. Without one, remove it: the server makes a new "
                    + "key, all sessions end, and the webhooks must be added again."
            )
        }
        return bytes
    }

    /// Writes a new key; a stop of the machine leaves all of its bytes, or no file.
    private static func write(_ bytes: Data, to path: String, inStoreAt folder: String) throws {
        let files = FileManager.default
        let part = path + ".new"
        do {
            let attributes = [FileAttributeKey.posixPermissions: 0o600]
            guard files.createFile(atPath: part, contents: bytes, attributes: attributes),
                let handle = FileHandle(forUpdatingAtPath: part)
            else { throw CocoaError(.fileWriteUnknown) }
            try handle.synchronize()
            try handle.close()
            // The server's user could not read a key that root has created.
            let owner = try files.attributesOfItem(atPath: folder).filter {
                $0.key == .ownerAccountID || $0.key == .groupOwnerAccountID
            }
            if geteuid() == 0 { try? files.setAttributes(owner, ofItemAtPath: part) }
            try files.moveItem(atPath: part, toPath: path)
        } catch {
            throw SyncError(.serviceUnavailable, "The file \(path) cannot be written: \(error)")
        }
    }

    /// Returns a code of some bytes for one purpose, which only this server can create.
    func code(of bytes: some Sequence<UInt8>, for purpose: String) -> [UInt8] {
        var mac = keyed
        // The zero byte ends the purpose. Without it, a purpose and its bytes could equal a longer
        // purpose with fewer bytes.
        var message = Array(purpose.utf8)
        message.append(0)
        message.append(contentsOf: bytes)
        mac.update(data: message)
        return mac.finalize().withUnsafeBytes { [UInt8]($0) }
    }

    /// Returns a signed text that contains a value.
    ///
    /// Others can read it, and cannot create or change it.
    func sealed(_ value: some Encodable, for purpose: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let bytes = Array(try encoder.encode(value))
        return (code(of: bytes, for: purpose).prefix(Self.macByteCount) + bytes).base64URL
    }

    /// Returns the value in a text of ``sealed(_:for:)`` for the same purpose; `nil` for any other
    /// text.
    func opened<Value: Decodable>(
        _ text: String,
        for purpose: String,
        as type: Value.Type
    ) -> Value? {
        guard let bytes = [UInt8](base64URL: text), bytes.count > Self.macByteCount else {
            return nil
        }
        let value = bytes[Self.macByteCount...]
        let expected = code(of: value, for: purpose).prefix(Self.macByteCount)
        guard expected.isSame(as: bytes[..<Self.macByteCount]) else { return nil }
        return try? JSONDecoder().decode(Value.self, from: Data(value))
    }
}

extension Sequence<UInt8> {
    /// Base64url without padding.
    var base64URL: String {
        var text: [UInt8] = []
        Array(self).withUnsafeBufferPointer { Base64.encode($0, .urlWithoutPadding, into: &text) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Hexadecimal digits in small letters.
    var hexadecimal: String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * underestimatedCount)
        for byte in self {
            text.append((byte >> 4).hexadecimalDigit)
            text.append((byte & 15).hexadecimalDigit)
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension Collection<UInt8> {
    /// Compares two byte strings in constant time.
    func isSame(as other: some Collection<UInt8>) -> Bool {
        // The lengths are no secret: an attacker knows the format.
        guard count == other.count else { return false }
        return zip(self, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension [UInt8] {
    init?(base64URL text: String) {
        var bytes: [UInt8] = []
        guard Base64.decode(text.utf8, .urlWithoutPadding, into: &bytes) else { return nil }
        self = bytes
    }

    init?(base64 text: String) {
        var bytes: [UInt8] = []
        guard Base64.decode(text.utf8, .standard, into: &bytes) else { return nil }
        self = bytes
    }

    /// Random bytes.
    static func random(_ count: Int) -> [UInt8] {
        // Tokens and salts depend on it. On Linux and Apple's systems it is cryptographically
        // secure.
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in random.next() }
    }

    /// The SHA-256 of the UTF-8 of a text.
    static func sha256(_ text: String) -> [UInt8] {
        SHA256.hash(data: Array(text.utf8)).withUnsafeBytes { [UInt8]($0) }
    }
}

extension UInt8 {
    /// The digit of a number below sixteen, as a small letter from ten on.
    fileprivate var hexadecimalDigit: UInt8 { self < 10 ? self + 48 : self + 87 }

    /// True if it is a letter, a digit, a hyphen or an underscore of ASCII.
    var isASCIIWordByte: Bool {
        switch self {
        case 45, 48...57, 65...90, 95, 97...122: true
        default: false
        }
    }
}
#endif

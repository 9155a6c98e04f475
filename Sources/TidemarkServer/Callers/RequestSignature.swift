// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
import Foundation
import TidemarkLock
import TidemarkModel
import TidemarkWire

/// The signature of a request by a server-to-server key (ECDSA-P256-SHA256).
struct RequestSignature: Sendable {
    /// The key's id.
    let keyID: String
    /// The time, as it was sent.
    let date: String
    /// The signature in base64, as it was sent.
    let signature: String

    /// Milliseconds by which the time of a request may differ from ours.
    static let window: Int64 = 10 * 60_000

    /// Returns true if a key made the signature for a body and a target, close to a time.
    func isValid(
        for body: [UInt8],
        target: String,
        _ key: ServerKey,
        now: Int64
    ) -> Bool {
        guard let time = Self.time(date), abs(now - time) <= Self.window,
            let publicKey = try? P256.Signing.PublicKey(pemRepresentation: key.publicKey),
            let signature = parsedSignature
        else { return false }
        let hash = Data(SHA256.hash(data: body)).base64EncodedString()
        let path = target.split(separator: "?", maxSplits: 1).first.map(String.init) ?? target
        // A request without a body is signed with no hash or with the hash of no bytes; some
        // clients sign the query too.
        let hashes = body.isEmpty ? ["", hash] : [hash]
        for hash in hashes {
            for signed in path == target ? [path] : [path, target] {
                let message = Data("\(date):\(hash):\(signed)".utf8)
                if publicKey.isValidSignature(signature, for: message) { return true }
            }
        }
        return false
    }

    private var parsedSignature: P256.Signing.ECDSASignature? {
        guard let bytes = [UInt8](base64: signature) else { return nil }
        if let der = try? P256.Signing.ECDSASignature(derRepresentation: bytes) { return der }
        return try? P256.Signing.ECDSASignature(rawRepresentation: bytes)
    }

    /// The key's id and the signature, as bytes that are the same for all forms of the signature;
    /// `nil` if it cannot be read.
    ///
    /// A signature is a pair (r, s), in DER or raw. The pair (r, n - s) is valid for the same
    /// message, and anyone can compute it. The form has the smaller of the two.
    var canonical: [UInt8]? {
        guard let raw = parsedSignature.map({ [UInt8]($0.rawRepresentation) }),
            raw.count == 2 * Self.order.count
        else { return nil }
        let s = [UInt8](raw.suffix(Self.order.count))
        var complement = Self.order
        var borrow = 0
        for index in s.indices.reversed() {
            let difference = Int(Self.order[index]) - Int(s[index]) - borrow
            complement[index] = UInt8(truncatingIfNeeded: difference)
            borrow = difference < 0 ? 1 : 0
        }
        let least = s.lexicographicallyPrecedes(complement) ? s : complement
        return Array(keyID.utf8) + Array(raw.prefix(Self.order.count)) + least
    }

    /// The order n of the curve P-256 (FIPS 186-4, D.1.2.3), most significant byte first.
    private static let order: [UInt8] = [
        0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63,
        0x25, 0x51,
    ]

    /// Reads a time such as `2016-01-25T22:15:43Z`.
    private static func time(_ text: String) -> Int64? {
        guard let date = try? Date(text, strategy: .iso8601) else { return nil }
        return Int64(date.timeIntervalSince1970 * 1000)
    }
}

/// The signatures that were seen, to refuse replayed requests.
final class SeenSignatures: Sendable {
    /// The canonical form of a signature, shortened: another one with the same 128 bits cannot be
    /// found.
    private struct Form: Hashable {
        var high: UInt64 = 0
        var low: UInt64 = 0

        init(_ canonical: [UInt8]) {
            for (index, byte) in SHA256.hash(data: canonical).enumerated() {
                if index < 8 { high = high << 8 | UInt64(byte) }
                if index >= 8, index < 16 { low = low << 8 | UInt64(byte) }
            }
        }
    }

    /// The times at which signatures were first seen, in two stretches of time.
    private struct State {
        var recent: [Form: Int64] = [:]
        var former: [Form: Int64] = [:]
        /// The time at which `recent` began.
        var start: Int64 = .min
    }

    /// By key, so that the holder of one key cannot use up what others need.
    private let states = Lock([String: State]())
    private let limit: Int

    /// Remembers at most a number of signatures of each key; the default takes about 13 MB.
    init(limit: Int = 250_000) {
        self.limit = limit
    }

    /// Returns true if a signature is new, or is repeated within a second.
    ///
    /// Programs that sign without randomness make the same signature for the same request. Throws
    /// if no more signatures can be remembered: a request could then be replayed.
    func takes(_ signature: RequestSignature, now: Int64) throws(WebError) -> Bool {
        guard let form = signature.canonical.map(Form.init) else { return false }
        // A signature can be dropped once its time is outside the window: `isValid` then rejects
        // it. A signature may be dated one window ahead, so it is kept for two. Dropping a whole
        // stretch takes no search, however many signatures there are.
        let kept = 2 * RequestSignature.window
        let isNew = states.withLock { states -> Bool? in
            // Removed, so that the dictionaries in it are changed in place.
            var state = states.removeValue(forKey: signature.keyID) ?? State()
            defer { states[signature.keyID] = state }
            // Also after the clock was set back. Otherwise no stretch would end until it is later
            // than before.
            if state.start < now - kept || state.start > now + kept {
                // After twice that time the signatures of `recent` are old as well.
                let isPast = state.start < now - 2 * kept
                state.former = isPast ? [:] : state.recent
                state.recent = [:]
                state.start = now
            }
            if let first = state.recent[form] ?? state.former[form] {
                return abs(now - first) <= 1_000
            }
            guard state.recent.count + state.former.count < limit else { return nil }
            state.recent[form] = now
            return true
        }
        guard let isNew else {
            throw .throttled(
                "The key has signed too many requests. Wait, then repeat the request.",
                retryAfter: 60
            )
        }
        return isNew
    }
}
#endif

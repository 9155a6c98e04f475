// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import CZlib
import TidemarkWire

/// The content coding `gzip` of RFC 9110.
enum Gzip {
    /// Bodies below this many bytes are not worth it.
    static let least = 1024

    /// Bits of the window, and 16 for the header and trailer of gzip.
    private static let windowBits = MAX_WBITS + 16

    /// Returns the bytes in gzip's form; `nil` if zlib has no memory.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        // The level is for speed: an answer is compressed once, for one request.
        guard
            deflateInit2_(
                &stream,
                3,
                Z_DEFLATED,
                windowBits,
                // The memory level. With 15 bits of window, level 8 takes 256 KiB while the answer
                // is compressed.
                8,
                Z_DEFAULT_STRATEGY,
                ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)
            ) == Z_OK
        else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        // With this much room, one call of `deflate` with `Z_FINISH` compresses everything.
        let room = Int(deflateBound(&stream, UInt(bytes.count)))
        return input.withUnsafeMutableBufferPointer { input in
            var isWhole = false
            let output = [UInt8](unsafeUninitializedCapacity: room) { output, count in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                isWhole = deflate(&stream, Z_FINISH) == Z_STREAM_END
                count = room - Int(stream.avail_out)
            }
            return isWhole ? output : nil
        }
    }

    /// Expands compressed bytes, up to a limit.
    ///
    /// The bytes are one member or several. Throws for bytes that are not gzip or end too early, and
    /// if the result would exceed the limit: no more is ever expanded.
    static func expanded(_ bytes: [UInt8], upTo limit: Int) throws(WebError) -> [UInt8] {
        var stream = z_stream()
        guard
            inflateInit2_(
                &stream,
                windowBits,
                ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)
            ) == Z_OK
        else { throw WebError("INTERNAL_ERROR", status: 500, "The server failed") }
        defer { inflateEnd(&stream) }
        var output: [UInt8] = []
        var input = bytes
        var status = Z_OK
        input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            while status == Z_OK, output.count <= limit {
                // Up to one byte beyond the limit: a longer result is detected without expanding
                // the rest.
                let room = min(max(4 * bytes.count, 4096), limit + 1 - output.count)
                output += [UInt8](unsafeUninitializedCapacity: room) { piece, count in
                    stream.next_out = piece.baseAddress
                    stream.avail_out = UInt32(room)
                    repeat {
                        // If the input ends before the trailer, this returns `Z_BUF_ERROR`. The
                        // loops then end, and the check of the status below rejects the body.
                        status = inflate(&stream, Z_NO_FLUSH)
                        // A body may have several members (RFC 1952, section 2.2). Bytes that are
                        // none make the next call fail. Here, and not in the loop outside, so that
                        // many small members share one piece.
                    } while status == Z_STREAM_END && stream.avail_in > 0
                        && inflateReset(&stream) == Z_OK
                    count = room - Int(stream.avail_out)
                }
            }
        }
        guard output.count <= limit else { throw .tooLong(limit: limit) }
        guard status == Z_STREAM_END, stream.avail_in == 0 else {
            throw .badRequest("The body is not gzip, or was cut off.")
        }
        return output
    }
}

extension Incoming {
    /// True if the client takes an answer that is compressed.
    var takesGzip: Bool {
        (header(.acceptEncoding) ?? "").split(separator: ",").contains { entry in
            let parts = entry.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
            // Weights other than zero do not matter, because the server has no other coding to
            // choose. `*` does not count: a client that wants gzip names it.
            guard parts.first == "gzip" || parts.first == "x-gzip" else { return false }
            return !parts.dropFirst().contains {
                $0.hasPrefix("q=0") && Double($0.dropFirst(2)) == 0
            }
        }
    }

    /// Returns the whole body as it was before it was compressed, up to a limit.
    func body(upTo limit: Int) async throws(WebError) -> [UInt8] {
        // The limit applies twice, to the bytes that arrive and to the expanded ones. One request
        // therefore holds at most twice the limit in memory.
        let bytes = try await collected(upTo: limit)
        switch coding {
        case nil: return bytes
        case "gzip", "x-gzip": return try Gzip.expanded(bytes, upTo: limit)
        case let coding?:
            throw WebError(
                "BAD_REQUEST",
                status: 415,
                "The content coding \(coding) is not known; send gzip, or none."
            )
        }
    }

    /// Refuses a coded body, for requests whose bodies are stored as they arrive.
    func checkNotCoded() throws(WebError) {
        guard let coding else { return }
        throw WebError(
            "BAD_REQUEST",
            status: 415,
            "The body has the content coding \(coding); send the bytes of an asset without one."
        )
    }

    /// The content coding of the body; `nil` if it has none.
    private var coding: String? {
        let coding = header(.contentEncoding)?.lowercased()
        return coding == "" || coding == "identity" ? nil : coding
    }
}
#endif

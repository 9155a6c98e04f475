// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TidemarkLock
import TidemarkModel
import TidemarkWire

/// `/assets/…`: the bytes of assets, at addresses that are the credential.
extension Server {
    func answerAsset(_ request: Request) async -> Response {
        let incoming = Incoming(request, options)
        var line = RequestLine(incoming, RequestSpan(incoming.head, tracer))
        metrics.begins()
        var response: Response
        do throws(WebError) {
            if request.method == .options {
                line.endpoint = "preflight"
                response = .preflight(incoming, incoming.origin)
            } else if incoming.path.count == 3, incoming.path[1] == "up" {
                line.endpoint = "assets/up"
                response = try await upload(incoming, incoming.path[2], &line)
            } else if incoming.path.count >= 2 {
                line.endpoint = "assets"
                response = try await download(incoming, incoming.path[1], &line)
            } else {
                throw .noHandler(incoming.path.joined(separator: "/"))
            }
        } catch {
            line.fails(error)
            response = Response(error, incoming)
        }
        if let origin = incoming.origin { response.allow(origin) }
        line.end(metrics, requestLog, status: response.status.code)
        return response
    }

    private func upload(
        _ incoming: Incoming,
        _ text: String,
        _ line: inout RequestLine
    ) async throws(WebError) -> Response {
        guard incoming.head.method == .post || incoming.head.method == .put else {
            return .wrongMethod("POST, PUT", incoming)
        }
        try incoming.checkNotCoded()
        // The address is the credential. Neither the session nor the API token is checked again:
        // until its end, an address also works for a user who has signed out.
        let secret = directory.secret
        guard let ticket = secret.opened(text, for: UploadTicket.purpose, as: UploadTicket.self),
            Clock.now() < ticket.end, let caller = ticket.caller.caller
        else {
            throw .notFound(
                "The address of the upload is no longer valid; call assets/upload for a new one."
            )
        }
        line.caller = caller
        // Before the first byte is read, so that two concurrent requests cannot both use the
        // address.
        guard uploads.begins(ticket.nonce, until: ticket.end) else {
            throw WebError(
                "CONFLICT",
                status: 409,
                "The address of the upload has already been used; call assets/upload for a new one."
            )
        }
        do {
            // The body is never in memory as a whole. The store limits its size; `bodyByteLimit`
            // does not apply.
            let pieces = incoming.parts.map { Array($0.readableBytesView) }
            let asset = try await store.uploadAsset(
                pieces,
                UploadAssetRequest(zone: ticket.target.zone),
                as: caller
            )
            let host = RequestHost(server: self, incoming: incoming, token: nil)
            let answer = WebServices(store, host: host).uploadAnswer(
                for: asset,
                ticket.target.target,
                as: caller
            )
            return Response(json: answer, incoming)
        } catch {
            // A client whose connection was lost repeats the upload at the same address.
            uploads.failed(ticket.nonce)
            throw WebError(any: error)
        }
    }

    private static let cacheControl = "private, max-age=3600"

    private func download(
        _ incoming: Incoming,
        _ text: String,
        _ line: inout RequestLine
    ) async throws(WebError) -> Response {
        let method = incoming.head.method
        guard method == .get || method == .head else {
            return .wrongMethod("GET, HEAD", incoming)
        }
        let secret = directory.secret
        guard
            var ticket = secret.opened(text, for: DownloadTicket.purpose, as: DownloadTicket.self),
            Clock.now() < ticket.end, let caller = ticket.caller.caller
        else {
            throw .notFound(
                "The address of the download is no longer valid; fetch the record again."
            )
        }
        line.caller = caller
        let tag = "\"\(ticket.request.changeTag?.text ?? text.suffix(16).description)\""
        var range = incoming.header(.range).flatMap { ByteRange($0) }
        // The client has a part of another version. The rest of this one would not belong to it.
        if let held = incoming.header(.ifRange), held != tag { range = nil }
        if let range { ticket.request.range = range.request }
        let download: AssetDownload
        do throws(SyncError) {
            if case .suffix(let count)? = range {
                // Opens the asset without reading it: the length turns the last bytes into a range.
                let whole = try await store.downloadAsset(ticket.request, as: caller).byteCount
                ticket.request.range = (whole - min(whole, count))..<whole
            }
            download = try await store.downloadAsset(ticket.request, as: caller)
        } catch {
            throw WebError(error)
        }
        if incoming.header(.ifNoneMatch).map({ Self.lists(tag, in: $0) }) == true {
            return Response(
                status: .notModified,
                headers: [.eTag: tag, .cacheControl: Self.cacheControl, .vary: "Origin"]
            )
        }
        var response = Response(status: range == nil ? .ok : .partialContent)
        response.headers[.contentType] = "application/octet-stream"
        response.headers[.contentDisposition] = "attachment"
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.acceptRanges] = "bytes"
        response.headers[.cacheControl] = Self.cacheControl
        // Also without an origin: a browser that has kept the bytes for an image would give them to a
        // script, without the fields that let it read them.
        response.headers[.vary] = "Origin"
        response.headers[.eTag] = tag
        if range != nil {
            // The store clamps the range to the asset, so only a range outside of it is empty.
            guard !download.range.isEmpty else {
                response.status = .rangeNotSatisfiable
                response.headers[.contentRange] = "bytes */\(download.byteCount)"
                return response
            }
            response.headers[.contentRange] =
                "bytes \(download.range.lowerBound)-\(download.range.upperBound - 1)/\(download.byteCount)"
        }
        let length = Int(download.range.upperBound - download.range.lowerBound)
        guard method == .get else {
            response.headers[.contentLength] = String(length)
            return response
        }
        response.body = try await body(of: download, length, incoming.uuid)
        return response
    }

    /// Returns the body with the bytes of a download; throws for damage that its first piece shows.
    ///
    /// So damage has the status of an error in an asset of one piece, and in a range.
    private func body(
        of download: AssetDownload,
        _ length: Int,
        _ uuid: String
    ) async throws(WebError) -> ResponseBody {
        let first: [UInt8]?
        do throws(SyncError) {
            var pieces = download.makeAsyncIterator()
            first = try await pieces.next()
        } catch {
            throw WebError(error)
        }
        return ResponseBody(contentLength: length) { [logger] writer in
            do {
                if let first { try await writer.write(ByteBuffer(bytes: first)) }
                for try await piece in download { try await writer.write(ByteBuffer(bytes: piece)) }
                try await writer.finish(nil)
            } catch let error as SyncError {
                // The head is sent already. The body stays shorter than its `Content-Length`, and
                // the client notices.
                logger.error(
                    "an asset was cut off",
                    metadata: ["cause": "\(error.message)", "request": "\(uuid)"]
                )
                throw error
            }
        }
    }

    /// Returns true if an `If-None-Match` lists a tag.
    private static func lists(_ tag: String, in header: String) -> Bool {
        header.split(separator: ",").contains { held in
            let held = held.drop { $0 == " " }
            // A weak tag is compared like a strong one here (RFC 9110).
            return held.hasPrefix("*") || held.hasPrefix(tag) || held.hasPrefix("W/" + tag)
        }
    }
}

/// One range of bytes, as a header requests it.
enum ByteRange {
    case from(UInt64, through: UInt64?)
    /// The last bytes.
    case suffix(UInt64)

    /// Reads a header; `nil` if it is invalid or requests several ranges.
    init?(_ header: String) {
        guard header.hasPrefix("bytes=") else { return nil }
        let parts = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        // Several ranges are answered with the whole asset, which RFC 9110 allows.
        guard parts.count == 2 else { return nil }
        if parts[0].isEmpty {
            guard let count = UInt64(parts[1]) else { return nil }
            self = .suffix(count)
        } else {
            guard let first = UInt64(parts[0]) else { return nil }
            let last = parts[1].isEmpty ? nil : UInt64(parts[1])
            guard parts[1].isEmpty || last.map({ $0 >= first }) == true else { return nil }
            self = .from(first, through: last)
        }
    }

    /// The bytes to request; `nil` for a suffix, whose position is not known yet.
    var request: Range<UInt64>? {
        switch self {
        case .from(let first, let last):
            first..<(last.map { $0 < .max ? $0 + 1 : $0 } ?? .max)
        case .suffix: nil
        }
    }
}
#endif

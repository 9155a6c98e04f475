// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import TidemarkModel
import TidemarkWire

/// `tokens/create`, `tokens/register`, and the courier: one notification for each request that
/// waits for it.
extension Server {
    /// The used members of requests about tokens.
    private struct TokenRequest: Decodable {
        var apnsEnvironment: String?
        var apnsToken: String?
        var clientId: String?
    }

    private func tokenRequest(
        _ body: [UInt8],
        _ found: inout Callers.Found
    ) throws(WebError) -> TokenRequest {
        var request = TokenRequest()
        if body.contains(where: { $0 > 0x20 }), body != Array("null".utf8) {
            do {
                request = try JSONDecoder().decode(TokenRequest.self, from: Data(body))
            } catch {
                throw .badRequest("The body is not a request for a token; send a JSON object.")
            }
        }
        if let environment = request.apnsEnvironment,
            Environment(rawValue: environment) == nil
        {
            throw .badRequest(
                "There is no apnsEnvironment '\(environment)'; the environments are development and "
                    + "production."
            )
        }
        if let client = request.clientId, !client.isEmpty { found.caller.device = client }
        return request
    }

    func createToken(
        _ incoming: Incoming,
        _ body: [UInt8],
        _ found: Callers.Found
    ) async throws(WebError) -> Response {
        var found = found
        let request = try tokenRequest(body, &found)
        let token: String
        do {
            token = try await push.couriers.make(for: found)
        } catch {
            throw WebError(any: error)
        }
        var answer: [UInt8] = []
        answer.append(literal: "{\"apnsEnvironment\":")
        answer.append(
            jsonString: request.apnsEnvironment ?? found.caller.database.environment.rawValue
        )
        answer.append(member: "apnsToken", jsonString: token)
        answer.append(member: "webcourierURL", jsonString: incoming.baseURL + "/courier/" + token)
        answer.append(literal: "}")
        return Response(json: answer, incoming)
    }

    func registerToken(
        _ incoming: Incoming,
        _ body: [UInt8],
        _ found: Callers.Found
    ) async throws(WebError) -> Response {
        var found = found
        guard let token = try tokenRequest(body, &found).apnsToken, !token.isEmpty else {
            throw .badRequest("The member \"apnsToken\" is missing.")
        }
        do {
            try await push.couriers.register(token, for: found)
        } catch {
            throw WebError(any: error)
        }
        return Response(json: Array("{}".utf8), incoming)
    }

    // MARK: The courier

    /// Answers a request that waits for a notification.
    func answerCourier(_ request: Request, _ context: some RequestContext) async -> Response {
        let incoming = Incoming(request, options, from: context.address)
        var line = RequestLine(incoming, RequestSpan(incoming.head, tracer))
        line.endpoint = "courier"
        metrics.begins()
        var response: Response
        do throws(WebError) {
            if request.method == .options {
                response = .preflight(incoming, incoming.origin)
            } else if request.method == .get || request.method == .post {
                try limits.take(.address, of: incoming.address)
                _ = try await incoming.collected(upTo: 64 << 10)
                response = try await poll(incoming, context.connection, &line)
            } else {
                response = .wrongMethod("GET, POST", incoming)
            }
        } catch {
            line.fails(error)
            response = Response(error, incoming)
        }
        // Any page may read the answer: the token in the path is the credential, and no API token
        // says which origins are allowed.
        if let origin = incoming.origin { response.allow(origin) }
        line.end(metrics, requestLog, status: response.status.code)
        return response
    }

    private func poll(
        _ incoming: Incoming,
        _ connection: (any Channel)?,
        _ line: inout RequestLine
    ) async throws(WebError) -> Response {
        let unknown = WebError.accessDenied(
            "There is no such courier, or it has ended; call tokens/create for a new one."
        )
        // All failures have one answer, so that it does not reveal which tokens exist.
        guard incoming.path.count == 2 else { throw unknown }
        do {
            guard let courier = try await push.couriers.courier(incoming.path[1]) else {
                throw unknown
            }
            line.caller = courier.caller
            guard let handout = try await handout(of: courier, connection) else {
                return Response(json: [], incoming)
            }
            return answer(incoming, handout, courier)
        } catch let error as ListenerHub.Refusal {
            throw error.webError
        } catch let error as SyncError where error.code == .changeTokenExpired {
            // The client has missed a notification: a new token makes it fetch.
            try? await push.couriers.end(CourierToken.recordName(of: incoming.path[1]))
            throw unknown
        } catch {
            throw WebError(any: error)
        }
    }

    /// Waits for a notification; returns `nil` if none arrives in time.
    private func handout(
        of courier: Courier,
        _ connection: (any Channel)?
    ) async throws -> Handout? {
        // Added before the first search. A notification that is committed between a search and the
        // wait leaves a mark, and the wait returns at once.
        let listener = try push.hub.add(for: courier.collection)
        defer { push.hub.remove(listener) }
        if let connection { ConnectionWatch.begin(on: connection) }
        // Only after the listener is in the hub: this ends the request that waited before, and the
        // new one must not miss what that one did not take.
        courier.wait(with: listener)
        defer { courier.stopWaiting(listener) }
        var isLast = false
        while true {
            // They may have ended since the request began.
            if try await !directory.isGood(courier.token, isUse: false) {
                throw SyncError(.changeTokenExpired, "The credentials of the courier have ended.")
            }
            if let handout = try await courier.take(from: store) { return handout }
            if isLast { return nil }
            let marks = await listener.takeMarks()
            guard marks.contains(.news), !marks.contains(.end) else { return nil }
            // The beat is the time limit of the request. News that arrived together with it gets
            // one more search.
            isLast = marks.contains(.beat)
        }
    }

    private func answer(
        _ incoming: Incoming,
        _ handout: Handout,
        _ courier: Courier
    ) -> Response {
        let payload = handout.line.payload
        var response = Response(json: [], incoming)
        response.body = ResponseBody(contentLength: payload.count) { writer in
            // The position is saved after the last byte is written. If a write fails or the server
            // stops before that, the notification is delivered again, not lost.
            try await writer.write(ByteBuffer(bytes: payload))
            try await writer.finish(nil)
            handout.wasWritten()
            // A position that could not be saved is saved with the next one.
            try? await courier.save(in: self.directory)
        }
        return response
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TidemarkModel
import TidemarkWire

/// The endpoints by which clients begin to listen.
enum PushEndpoint: String, CaseIterable {
    case stream = "changes/stream"
    case createToken = "tokens/create"
    case registerToken = "tokens/register"

    /// The methods of the endpoint in addition to OPTIONS.
    var methods: [HTTPRequest.Method] { self == .stream ? [.get] : [.post] }

    /// Creates the endpoint of a request's path; ignores the rest of the path.
    init?(_ head: HTTPRequest) {
        // The end of the path selects the handler. `pushPlace` then checks all of it. Every request
        // to a database is compared, so as bytes.
        var target = head.path ?? ""
        let found = target.withUTF8 { target in
            let path = target[..<(target.firstIndex(of: UInt8(ascii: "?")) ?? target.count)]
            return Self.ends.first { path.suffix($0.text.count).elementsEqual($0.text) }
        }
        guard let found else { return nil }
        self = found.endpoint
    }

    private static let ends = allCases.map { (endpoint: $0, text: Array("/\($0.rawValue)".utf8)) }
}

extension Server {
    /// Adds the paths of push with a prefix of their own.
    func addPushRoutes<Context: RequestContext>(to router: Router<Context>) {
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]
        for method in methods {
            router.on("/device/1/**", method: method) { request, context in
                guard let endpoint = PushEndpoint(request.head), endpoint != .stream else {
                    let incoming = Incoming(request, self.options, from: context.address)
                    let path = incoming.path.joined(separator: "/")
                    return Response(WebError.noHandler(path), incoming).fitting(request)
                }
                return await self.answerPush(endpoint, request, context).fitting(request)
            }
            router.on("/courier/**", method: method) { request, context in
                await self.answerCourier(request, context).fitting(request)
            }
        }
    }

    /// Answers a request to listen.
    func answerPush(
        _ endpoint: PushEndpoint,
        _ request: Request,
        _ context: some RequestContext
    ) async -> Response {
        let incoming = Incoming(request, options, from: context.address)
        var call = AppCall(incoming, RequestSpan(incoming.head, tracer))
        call.line.endpoint = endpoint.rawValue
        return await answer(call) { (call) async throws(WebError) in
            guard endpoint.methods.contains(request.method) else {
                let allowed = endpoint.methods.map(\.rawValue).joined(separator: ", ")
                return .wrongMethod(allowed, incoming)
            }
            let body = try await incoming.body(upTo: 64 << 10)
            let place = try pushPlace(incoming, endpoint)
            let found = try await findSender(&call, body, for: place)
            guard found.caller.user != nil else { throw .authenticationRequired }
            switch endpoint {
            case .stream: return try await stream(incoming, found, context.connection)
            case .createToken: return try await createToken(incoming, body, found)
            case .registerToken: return try await registerToken(incoming, body, found)
            }
        }
    }

    /// Reads `database/1/CONTAINER/ENVIRONMENT/DATABASE/…` or `device/1/CONTAINER/ENVIRONMENT/…`.
    private func pushPlace(
        _ incoming: Incoming,
        _ endpoint: PushEndpoint
    ) throws(WebError) -> Callers.Place {
        let parts = incoming.path
        let isDevice = parts.first == "device"
        guard parts.count == (isDevice ? 6 : 7), parts[1] == "1",
            let environment = Environment(rawValue: parts[3]),
            // The paths of devices name no database. In the public one, sessions and keys are both
            // accepted.
            let scope = isDevice ? .public : DatabaseScope(name: parts[4])
        else { throw .noHandler(parts.joined(separator: "/")) }
        return Callers.Place(
            container: ContainerID(parts[2]),
            environment: environment,
            scope: scope,
            endpoint: endpoint.rawValue
        )
    }
}
#endif

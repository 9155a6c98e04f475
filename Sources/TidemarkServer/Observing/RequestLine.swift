// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Logging
import TidemarkModel
import TidemarkWire

/// The log line of a request.
///
/// Never a query, in which tokens are, nor a body or the value of a field.
struct RequestLine {
    private let start = ContinuousClock.now
    let uuid: String
    let method: String
    /// The endpoint of the path, if there is one.
    var endpoint: String?
    /// The caller, if they are known.
    var caller: Caller?
    /// The name of the administrator, for a request of an administrator.
    var administrator: String?
    /// The code of an error.
    var code: String?
    let span: RequestSpan

    init(_ incoming: Incoming, _ span: RequestSpan) {
        self.span = span
        uuid = incoming.uuid
        method = incoming.request.method.rawValue
    }

    /// Counts the request and writes its line.
    func end(_ metrics: Metrics, _ logger: Logger, status: Int) {
        let elapsed = ContinuousClock.now - start
        // Every request that called `begins` ends exactly once, or `tidemark_requests_open` stays
        // too high.
        metrics.ends(endpoint, status: status, after: elapsed)
        span.end(endpoint, caller, code: code, method: method, status: status)
        let level: Logger.Level = status >= 500 ? .error : .info
        // Before the metadata is made, which takes a text for each member.
        guard logger.logLevel <= level else { return }
        let time = elapsed.components
        let microseconds = time.seconds * 1_000_000 + time.attoseconds / 1_000_000_000_000
        var metadata: Logger.Metadata = [
            "request": "\(uuid)", "method": "\(method)", "status": "\(status)",
            "microseconds": "\(microseconds)",
        ]
        let members: [(String, String?)] = [
            ("endpoint", endpoint), ("code", code), ("administrator", administrator),
            ("container", caller?.database.container.identifier),
            ("environment", caller?.database.environment.rawValue),
            ("database", caller?.database.scope.name),
            ("user", caller?.user?.userRecordName), ("device", caller?.device),
            ("traceparent", caller?.trace?.traceparent),
        ]
        for case (let name, let value?) in members { metadata[name] = "\(value)" }
        logger.log(level: level, "request", metadata: metadata)
    }
}
#endif

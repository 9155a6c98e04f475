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
    /// The cause of the server's failure, with its place.
    var cause: String?
    let span: RequestSpan

    init(_ incoming: Incoming, _ span: RequestSpan) {
        self.span = span
        uuid = incoming.uuid
        method = incoming.head.method.rawValue
    }

    /// Notes the error of the answer.
    mutating func fails(_ error: WebError) {
        code = error.code
        cause = error.cause
    }

    /// Counts the request and writes its line.
    func end(_ metrics: Metrics, _ log: RequestLog, status: Int) {
        let elapsed = ContinuousClock.now - start
        // Every request that called `begins` ends exactly once, or `tidemark_requests_open` stays
        // too high.
        metrics.ends(endpoint, status: status, after: elapsed)
        span.end(endpoint, caller, code: code, method: method, status: status)
        let level: Logger.Level = status >= 500 ? .error : .info
        let time = elapsed.components
        let microseconds = time.seconds * 1_000_000 + time.attoseconds / 1_000_000_000_000
        if let lines = log.lines {
            guard lines.logLevel <= level else { return }
            return lines.log(level, "request") { bytes in
                members(status: status, microseconds: microseconds) { name, value in
                    bytes.append(member: name, jsonString: value)
                }
            }
        }
        // Before the metadata is made, which takes a text for each member.
        guard log.logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [:]
        members(status: status, microseconds: microseconds) { name, value in
            if let value { metadata["\(name)"] = "\(value)" }
        }
        log.logger.log(level: level, "request", metadata: metadata)
    }

    /// Passes each member of the line to a closure, in the order of their names.
    private func members(
        status: Int,
        microseconds: Int64,
        _ pass: (StaticString, String?) -> Void
    ) {
        let database = caller?.database
        pass("administrator", administrator)
        pass("cause", cause)
        pass("code", code)
        pass("container", database?.container.identifier)
        pass("database", database?.scope.name)
        pass("device", caller?.device)
        pass("endpoint", endpoint)
        pass("environment", database?.environment.rawValue)
        pass("method", method)
        pass("microseconds", String(microseconds))
        pass("request", uuid)
        pass("status", String(status))
        pass("traceparent", caller?.trace?.traceparent)
        pass("user", caller?.user?.userRecordName)
    }
}

/// The log to which the lines of requests go.
struct RequestLog: Sendable {
    let logger: Logger
    /// The logger's own handler, if it writes JSON and adds nothing to the members of a line.
    ///
    /// It takes a line as bytes: a logger takes a dictionary, which costs several times as much.
    let lines: JSONLogHandler?

    init(_ logger: Logger) {
        self.logger = logger
        let lines = logger.handler as? JSONLogHandler
        self.lines = lines?.metadata.isEmpty == true ? lines : nil
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Testing

/// Requests and answers as they are on the wire, in files of `Fixtures`.
///
/// A request begins with `POST private/records/modify as ann`; header fields and the body follow. `--- 200` and the answer's
/// body come next. What differs from run to run has a name: `TAG1` is the first change tag that an answer had, and
/// requests may use it. `TIDEMARK_RECORD=1` writes the answers anew.
@Suite struct GoldenExchanges {
    static let names = [
        "zones", "records", "fields", "query", "changes", "subscriptions", "users", "shares",
        "assets",
        "errors", "extensions",
    ]

    @Test(arguments: names)
    func `Responses equal the reviewed ones`(name: String) async throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Fixtures/\(name).http")
        let text = try String(contentsOf: file, encoding: .utf8)
        let exchanges = Self.exchanges(in: text)
        try #require(!exchanges.isEmpty)
        try await ServerUnderTest.run(.router) { server in
            var names = Names()
            var web: [String: String] = [:]
            var recorded = ""
            for exchange in exchanges {
                let answer: Answer
                let body = names.real(exchange.body)
                let endpoint = names.real(exchange.endpoint)
                switch exchange.user {
                case "nobody":
                    answer = try await server.send(
                        endpoint,
                        body,
                        exchange.method,
                        headers: exchange.headers
                    )
                case "key":
                    answer = try await server.sendSigned(endpoint, body)
                case let user:
                    if web[user] == nil {
                        web[user] = try await server.signIn(
                            user,
                            isDiscoverable: user != "hidden"
                        )
                    }
                    answer = try await server.send(
                        endpoint,
                        body,
                        exchange.method,
                        web: web[user],
                        headers: exchange.headers
                    )
                }
                let named = names.named(answer.text)
                recorded += exchange.text + "--- \(answer.status)\n" + named + "\n\n"
                if ProcessInfo.processInfo.environment["TIDEMARK_RECORD"] == nil {
                    #expect(answer.status == exchange.status, "\(name): \(exchange.text)")
                    #expect(named == exchange.answer, "\(name): \(exchange.text)")
                }
            }
            if ProcessInfo.processInfo.environment["TIDEMARK_RECORD"] != nil {
                try recorded.write(to: file, atomically: true, encoding: .utf8)
            }
        }
    }

    struct Exchange {
        /// The request as it stands in the file.
        var text = ""
        var method = HTTPRequest.Method.post
        var endpoint = ""
        var user = ""
        var headers = HTTPFields()
        var body = ""
        var status = 0
        var answer = ""
    }

    static func exchanges(in text: String) -> [Exchange] {
        text.components(separatedBy: "\n\n").compactMap { block in
            var lines = block.split(separator: "\n").map(String.init)
            guard !lines.isEmpty else { return nil }
            var exchange = Exchange()
            while let line = lines.first, !line.hasPrefix("--- ") {
                lines.removeFirst()
                exchange.text += line + "\n"
                if line.hasPrefix("#") { continue }
                if exchange.endpoint.isEmpty {
                    let words = line.split(separator: " ").map(String.init)
                    exchange.method = HTTPRequest.Method(words[0]) ?? .post
                    exchange.endpoint = words[1]
                    exchange.user = words[3]
                } else if exchange.body.isEmpty, let colon = line.firstIndex(of: ":"),
                    let name = HTTPField.Name(String(line[..<colon]))
                {
                    exchange.headers[name] = line[colon...].dropFirst().trimmingCharacters(
                        in: .whitespaces
                    )
                } else {
                    exchange.body += line + "\n"
                }
            }
            if let line = lines.first { exchange.status = Int(line.dropFirst(4)) ?? 0 }
            exchange.answer = lines.dropFirst().joined(separator: "\n")
            return exchange.endpoint.isEmpty ? nil : exchange
        }
    }
}

/// Names for what differs from run to run, in the order in which answers have it.
private struct Names {
    private var named: [(kind: String, real: String)] = []
    private static let patterns: [(kind: String, pattern: String)] = [
        ("UUID", "[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[0-9A-F]{4}-[0-9A-F]{12}"),
        ("ADDRESS", "http://localhost/[a-z/]*(?:[?]s=)?[A-Za-z0-9_-]{60,}"),
        ("RECEIPT", "(?<=\"receipt\":\")[^\"]+"),
        ("PLACE", "r[.][A-Za-z0-9_-]*[.][A-Za-z0-9_.-]{40,}"),
        ("TOKEN", "t[.][A-Za-z0-9_-]{20,}"),
        ("MARKER", "(?<=\"continuationMarker\":\")[^\"]+"),
        ("TAG", "(?<=\"recordChangeTag\":\")[0-9a-z]+-[0-9a-z]+"),
        ("USER", "_[0-9a-f]{32}"),
        ("GUID", "(?<=\"shortGUID\":\")[^\"]+"),
        ("PARTICIPANT", "(?<=\"participantId\":\")[^\"]+"),
        ("TIME", "(?<=\"timestamp\":)[0-9]{13}"),
        ("SEQUENCE", "(?<=\"sequence\":)[0-9]+"),
        ("DEVICE", "web-[0-9a-f]{8}"),
    ]

    /// Times say nothing about each other, and ids of errors are all different.
    private static let unnumbered: Set<String> = ["TIME", "UUID", "SEQUENCE"]

    /// Puts names in the place of what differs.
    mutating func named(_ text: String) -> String {
        var text = text
        for (kind, pattern) in Self.patterns {
            guard let expression = try? NSRegularExpression(pattern: pattern) else { continue }
            let whole = NSRange(text.startIndex..., in: text)
            let ranges = expression.matches(in: text, range: whole).compactMap {
                Range($0.range, in: text)
            }
            let found = ranges.map { String(text[$0]) }
            if Self.unnumbered.contains(kind) {
                // The last first, so that the places of the others stay.
                for range in ranges.reversed() { text.replaceSubrange(range, with: kind) }
            } else {
                for real in found where !named.contains(where: { $0.real == real }) {
                    named.append((kind, real))
                }
                for entry in named where entry.kind == kind {
                    text = text.replacingOccurrences(
                        of: entry.real,
                        with: name(of: entry.real, kind)
                    )
                }
            }
        }
        return text
    }

    private func name(of real: String, _ kind: String) -> String {
        let same = named.filter { $0.kind == kind }
        return kind + String((same.firstIndex { $0.real == real } ?? 0) + 1)
    }

    /// Puts back what names stand for.
    func real(_ text: String) -> String {
        var text = text
        for kind in Set(named.map(\.kind)) {
            let same = named.filter { $0.kind == kind }
            // The higher numbers first: TAG12 is not TAG1 and a digit.
            for (index, entry) in same.enumerated().reversed() {
                text = text.replacingOccurrences(of: "\(kind)\(index + 1)", with: entry.real)
            }
        }
        return text
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
import Foundation
import NIOCore
import Testing
import TidemarkLock

@testable import TidemarkServer

/// An event of a stream, as a browser would see it.
struct StreamEvent: Equatable {
    var id = ""
    var name = ""
    var data = ""
    /// The record that it is about.
    var record: String? { member("rid") }
    /// The subscription that it comes from.
    var subscription: String? { member("sid") }

    private func member(_ name: String) -> String? {
        guard let json = try? JSONSerialization.jsonObject(with: Data(data.utf8)),
            let ck = (json as? [String: Any])?["ck"] as? [String: Any]
        else { return nil }
        return ["qry", "fet", "met"].lazy.compactMap {
            (ck[$0] as? [String: Any])?[name] as? String
        }
        .first
    }
}

/// The other end of a stream of Server-Sent Events; closed when it is dropped.
final class StreamReader: Sendable {
    fileprivate struct State {
        var bytes: [UInt8] = []
        var hasEnded = false
        var beatCount = 0
        var retry: Int?
        var lastID = ""
    }

    let status: UInt
    let headers: [String: String]
    private let state: SharedState
    private let reading: Task<Void, Never>

    private final class SharedState: Sendable {
        let lock = Lock(State())
    }

    /// The time after which to connect again, as the server said last.
    var retry: Int? { state.lock.withLock(\.retry) }
    var lastID: String { state.lock.withLock(\.lastID) }

    init(
        _ server: ServerUnderTest,
        _ web: String,
        client: String,
        after id: String? = nil,
        bearer: String? = nil
    ) async throws {
        let url =
            "http://localhost:\(try #require(server.client.port))\(ServerUnderTest.path)private"
            + "/changes/stream?ckAPIToken=\(server.token)&ckWebAuthToken=\(web)&clientId=\(client)"
        var request = HTTPClientRequest(url: url)
        if let id { request.headers.add(name: "Last-Event-ID", value: id) }
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        request.headers.add(name: "Origin", value: "https://app.example.org")
        let response = try await HTTPClient.shared.execute(request, timeout: .minutes(10))
        status = response.status.code
        headers = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
        let state = SharedState()
        self.state = state
        reading = Task.detached {
            do {
                for try await piece in response.body {
                    state.lock.withLock { $0.bytes += Array(piece.readableBytesView) }
                }
            } catch {
                // The test is over, or the connection broke.
            }
            state.lock.withLock { $0.hasEnded = true }
        }
    }

    deinit {
        reading.cancel()
    }

    struct NothingCame: Error {}

    /// Waits for a heartbeat; throws if an event comes before it, or neither.
    func heartbeat() async throws {
        for _ in 0..<2000 {
            let (event, count) = state.lock.withLock { ($0.takeEvent(), $0.beatCount) }
            if event == nil, count > 0 { return }
            if event != nil { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw NothingCame()
    }

    /// The next event; `nil` once the server has ended the stream.
    func next() async throws -> StreamEvent? {
        for _ in 0..<2000 {
            let (event, hasEnded) = state.lock.withLock { ($0.takeEvent(), $0.hasEnded) }
            if let event { return event }
            if hasEnded { return nil }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw NothingCame()
    }
}

extension StreamReader.State {
    /// Takes in all that came up to the end of an event.
    fileprivate mutating func takeEvent() -> StreamEvent? {
        var event = StreamEvent()
        while let end = bytes.firstRange(of: Array("\n\n".utf8)) {
            let block = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
            bytes.removeSubrange(..<end.upperBound)
            event = StreamEvent()
            for line in block.split(separator: "\n") {
                if line == ":" {
                    beatCount += 1
                    continue
                }
                let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
                let value = parts.count == 2 ? String(parts[1].dropFirst()) : ""
                switch parts[0] {
                case "id": event.id = value
                case "event": event.name = value
                case "data": event.data = value
                case "retry": retry = Int(value)
                default: Issue.record("a line of a stream: \(line)")
                }
            }
            if !event.id.isEmpty { lastID = event.id }
            if !event.data.isEmpty { return event }
        }
        return nil
    }
}

extension ServerUnderTest {
    func createZone(_ web: String, _ name: String = "Notes") async throws {
        let answer = try await send(
            "private/zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(name)"}}}]}"#,
            web: web
        )
        #expect(answer.status == 200)
    }

    /// Saves notes, over any version of them; `more` is added to the members of each.
    func saveNotes(_ names: [String], _ web: String, more: String = "") async throws -> Answer {
        let operations = names.map { name in
            #"{"operationType":"forceUpdate","record":{"recordName":"\#(name)","recordType":"Note","#
                + #""fields":{"title":{"value":"\#(name)"}}\#(more)}}"#
        }
        return try await send(
            "private/records/modify",
            #"{"zoneID":{"zoneName":"Notes"},"operations":[\#(operations.joined(separator: ","))]}"#,
            web: web
        )
    }

    /// Makes a zone and a subscription to the creation of notes in it.
    func subscribe(_ web: String) async throws {
        try await createZone(web)
        let answer = try await send(
            "private/subscriptions/modify",
            """
            {"operations":[{"operationType":"create","subscription":{"subscriptionID":"q1",
            "subscriptionType":"query","query":{"recordType":"Note","filterBy":[]},
            "firesOn":["create"],"notificationInfo":{"additionalFields":["title"]}}}]}
            """,
            web: web
        )
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Saves new notes as one of the user's clients.
    func save(_ names: [String], _ web: String, client: String) async throws {
        let operations = names.map { name in
            #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Note","#
                + #""fields":{"title":{"value":"\#(name)"}}}}"#
        }
        let answer = try await send(
            "private/records/modify?clientId=\(client)",
            #"{"zoneID":{"zoneName":"Notes"},"operations":[\#(operations.joined(separator: ","))]}"#,
            web: web
        )
        #expect(answer.status == 200 && !answer.text.contains("serverErrorCode"), "\(answer.text)")
    }
}
#endif

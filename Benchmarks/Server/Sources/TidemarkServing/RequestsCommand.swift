// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import AsyncHTTPClient
import Foundation
import Hummingbird
import NIOCore
import NIOHTTP1
import Synchronization
import Tidemark
import TidemarkClient

/// Compares Tidemark's client with a bare AsyncHTTPClient that sends the same bytes.
///
/// The bytes are those that the client sent to a server of this process. In each request that is
/// sent again, the record's name and the id of the request are others of the same length.
struct RequestsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requests",
        abstract: "Compares the client with a bare HTTP client that sends the same bytes."
    )

    @OptionGroup var service: ServiceOptions

    @Option(help: "The number of requests in a round.")
    var count = 2000

    @Option(help: "The number of rounds; the median of their ratios is printed.")
    var rounds = 5

    func run() async throws {
        guard let url = service.url else { throw ValidationError("Name a --url.") }
        let connection = try service.connection(to: url)
        _ = try await connection.service.modifyZones(
            ModifyZonesRequest(saves: [Notes.zone]),
            as: Caller()
        )
        let recorded = try await Recorder.record { address in
            let connection = try service.connection(to: address)
            let save = try Notes.save(Self.name(round: 0, 0, 0))
            _ = try? await connection.service.modifyRecords(
                ModifyRecordsRequest(saves: [save]),
                as: Caller()
            )
            let fetch = FetchRecordsRequest([save.recordID])
            _ = try? await connection.service.fetchRecords(fetch, as: Caller())
            await connection.close()
        }
        guard recorded.count >= 2 else { throw ValidationError("The client sent too little.") }
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            max(service.tasks, 8)
        let bare = HTTPClient(configuration: configuration)
        let works = [("saves", recorded[0]), ("lookups", recorded[recorded.count - 1])]
        for (title, request) in works {
            var ratios: [Double] = []
            var rates: [Double] = []
            let (tasks, each) = (service.tasks, max(count / service.tasks, 1))
            for round in 1...rounds {
                let ours = try await seconds {
                    try await inTasks(tasks) { task in
                        for number in 0..<each {
                            let name = Self.name(round: round, task, number)
                            if title == "saves" {
                                let request = ModifyRecordsRequest(saves: [try Notes.save(name)])
                                let result = try await connection.service.modifyRecords(
                                    request,
                                    as: Caller()
                                )
                                _ = try result.saves[0].get()
                            } else {
                                let id = RecordID(recordName: name, zone: Notes.zone)
                                let found = try await connection.service.fetchRecords(
                                    FetchRecordsRequest([id]),
                                    as: Caller()
                                )
                                _ = try found[0].get()
                            }
                        }
                    }
                }
                let theirs = try await seconds {
                    try await inTasks(tasks) { task in
                        for number in 0..<each {
                            // Saves need new records, lookups records that are there.
                            let space = title == "saves" ? round + 500 : round
                            try await request.send(
                                to: url,
                                name: Self.name(round: space, task, number),
                                with: bare
                            )
                        }
                    }
                }
                ratios.append(theirs / ours)
                rates.append(Double(tasks * each) / ours)
            }
            let ratio = ratios.sorted()[ratios.count / 2]
            let rate = Int(rates.sorted()[rates.count / 2])
            print("\(title) \(rate) \(String(format: "%.2f", ratio))")
        }
        try await bare.shutdown()
        await connection.close()
    }

    /// A name of a fixed length.
    private static func name(round: Int, _ task: Int, _ number: Int) -> String {
        String(format: "note-%03d-%03d-%06d", round, task, number)
    }
}

/// A request as it arrived.
struct RecordedRequest: Sendable {
    let path: String
    let headers: [(String, String)]
    let body: [UInt8]

    /// Sends the request about another record, and reads the answer.
    func send(to url: String, name: String, with client: HTTPClient) async throws {
        var request = HTTPClientRequest(url: url + path)
        request.method = .POST
        for (field, value) in headers {
            let isID = field.lowercased() == "x-tidemark-request-id"
            request.headers.add(name: field, value: isID ? Self.otherID(value) : value)
        }
        request.body = .bytes(Self.renamed(body, name))
        let answer = try await client.execute(request, timeout: .seconds(60))
        let bytes = try await answer.body.collect(upTo: 1 << 24)
        guard answer.status == .ok, bytes.readableBytes > 0 else {
            throw ValidationError("The bare request got \(answer.status): \(String(buffer: bytes))")
        }
    }

    private static func otherID(_ id: String) -> String {
        // All letters and digits: too few random ones repeat within some thousand requests.
        let digits = "0123456789abcdefghijklmnopqrstuvwxyz"
        return String(id.map { $0.isLetter || $0.isNumber ? digits.randomElement() ?? $0 : $0 })
    }

    private static func renamed(_ body: [UInt8], _ name: String) -> [UInt8] {
        var body = body
        let marker = Array("note-000-000-000000".utf8)
        let name = Array(name.utf8)
        var index = 0
        while index + marker.count <= body.count {
            if body[index..<index + marker.count].elementsEqual(marker) {
                body.replaceSubrange(index..<index + marker.count, with: name)
                index += marker.count
            } else {
                index += 1
            }
        }
        return body
    }
}

/// A server that keeps what it is sent, and refuses it.
enum Recorder {
    static func record(
        _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws -> [RecordedRequest] {
        let kept = Kept()
        let router = Router()
        router.on("**", method: .post) { request, _ in
            let bytes = try await request.body.collect(upTo: 1 << 24)
            let own: Set<String> = ["host", "content-length", "connection"]
            let headers = request.headers.map { ($0.name.rawName, $0.value) }
                .filter { !own.contains($0.0.lowercased()) }
            kept.requests.withLock {
                $0.append(
                    RecordedRequest(
                        path: request.uri.string,
                        headers: headers,
                        body: Array(bytes.readableBytesView)
                    )
                )
            }
            return Response(status: .badRequest)
        }
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            for await number in ports {
                try await body("http://127.0.0.1:\(number)")
                break
            }
            group.cancelAll()
        }
        return kept.requests.withLock { $0 }
    }

    private final class Kept: Sendable {
        let requests = Mutex([RecordedRequest]())
    }
}

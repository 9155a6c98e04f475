// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Tidemark
import TidemarkClient

/// The records that are saved: a title, a text of some 120 bytes, a number and a date.
enum Notes {
    static let zone = ZoneID(zoneName: "Notes")

    static func save(_ name: String) throws -> RecordSave {
        RecordSave(
            RecordID(recordName: name, zone: zone),
            type: "Note",
            fields: try Fields([
                "title": .string("Title of \(name)"),
                "text": .string(text),
                "number": .int64(Int64(name.utf8.count)),
                "due": .date(Date(timeIntervalSince1970: 1_700_000_000)),
            ])
        )
    }

    private static let text = [String](repeating: "a note of eleven words or so", count: 4)
        .joined(separator: ", ")
}

/// A service that is measured: a store in this process, or a server.
struct ServiceOptions: ParsableArguments {
    @Option(help: "The path of a store in this process.")
    var store: String?

    @Option(help: "The address of a server.")
    var url: String?

    @Option(help: "An API token of the server.")
    var apiToken = ""

    @Option(help: "The token of a user of the server.")
    var webAuthToken = ""

    @Flag(help: "Sends JSON where the server has the binary form.")
    var json = false

    @Option(help: "The number of tasks that ask at the same time.")
    var tasks = 8

    /// Runs a measurement with a service, which is closed after it.
    func use(
        _ body: (any DatabaseService, Caller) async throws -> Void
    ) async throws {
        if let store {
            let opened = try Store.open(at: store, access: .creating)
            try await body(opened, Caller())
            try opened.close()
            return
        }
        guard let url else { throw ValidationError("Name a --store or a --url.") }
        let connection = try self.connection(to: url)
        try await body(connection.service, Caller())
        await connection.close()
    }

    func connection(to url: String) throws -> ServerConnection {
        var options = ConnectionOptions()
        options.usesBinaryForm = !json
        options.connectionLimit = max(tasks, 8)
        return try ServerConnection(
            to: url,
            credentials: .user(apiToken: apiToken, webAuthToken: webAuthToken),
            options: options
        )
    }
}

/// Returns the seconds that something takes.
func seconds(_ body: () async throws -> Void) async throws -> Double {
    let start = ContinuousClock.now
    try await body()
    let time = start.duration(to: .now).components
    return Double(time.seconds) + Double(time.attoseconds) / 1e18
}

/// Runs a body in several tasks, each with its number.
func inTasks(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<count { group.addTask { try await body(number) } }
        try await group.waitForAll()
    }
}

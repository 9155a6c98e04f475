// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Hummingbird
import NIOCore
import Tidemark

/// Serves with Hummingbird what a server for the same requests has to do at least.
struct FloorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "floor",
        abstract: "Serves constants, appended bodies, rewritten JSON and repeated answers."
    )

    @Option(help: "The file to which bodies are appended; a store is made beside it.")
    var file: String

    func run() async throws {
        let appending = try AppendedFile(file)
        let router = Router()
        // The parameter is the size of the answer.
        router.post("/constant/:size") { request, context in
            _ = try await request.body.collect(upTo: 64 << 20)
            return Self.constant(try context.parameters.require("size", as: Int.self))
        }
        router.post("/append/:size") { request, context in
            let body = try await request.body.collect(upTo: 64 << 20)
            await appending.append(Array(body.readableBytesView))
            return Self.constant(try context.parameters.require("size", as: Int.self))
        }
        router.post("/json") { request, _ in
            let body = try await request.body.collect(upTo: 64 << 20)
            let value = try JSONTree(body.readableBytesView)
            return Self.json(ByteBuffer(bytes: value.written()))
        }
        let store = try Store.open(at: file + ".tide", access: .creating)
        let repeated = RepeatedAnswers(store)
        router.post("/tidemark/1/:container/:environment/:database/:method") { request, context in
            let body = try await request.body.collect(upTo: 64 << 20)
            let method = try context.parameters.require("method")
            return try await repeated.answer(method, request.headers[.contentType] ?? "", body)
        }
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                print("listening on \(channel.localAddress?.port ?? 0)")
                fflush(nil)
            }
        )
        try await application.runService()
        try store.close()
    }

    private static func constant(_ size: Int) -> Response {
        json(ByteBuffer(repeating: UInt8(ascii: "x"), count: min(size, 64 << 20)))
    }

    private static func json(_ bytes: ByteBuffer) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: bytes)
        )
    }
}

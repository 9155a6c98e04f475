// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `Docs/Examples/CloudKitNotes`, run as two devices: one process after another.
@Suite struct `The notes example` {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    private func run(_ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = Bundle.main.bundleURL
            .appendingPathComponent("CloudKitNotesExample")
        process.arguments = [scratch.path("notes.tide")] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self)
    }

    @Test func `The example syncs two devices and keeps both texts of a conflict`() throws {
        #expect(try run("phone", "add", "milk", "Buy milk") == "milk: Buy milk\n")
        #expect(try run("laptop", "list") == "milk: Buy milk\n")
        #expect(try run("laptop", "add", "bread", "Bake") == "bread: Bake\nmilk: Buy milk\n")
        #expect(try run("phone", "edit", "milk", "Buy oat milk") == "milk: Buy oat milk\n")
        #expect(
            try run("laptop", "edit", "milk", "Buy two")
                == """
                milk was changed meanwhile: both texts are kept
                bread: Bake
                milk: Buy oat milk / Buy two

                """
        )
        #expect(
            try run("phone", "remove", "bread") == "milk: Buy oat milk / Buy two\n"
        )
        #expect(try run("laptop", "list") == "milk: Buy oat milk / Buy two\n")
    }
}

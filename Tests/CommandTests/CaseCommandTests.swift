// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct CaseCommandTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    @Test func `A case can be imported and exports its expected state`() async throws {
        let store = try await folder.store(SampleHistory.lines(200))
        let output = folder.path("case.jsonl")
        for mask in [[], ["--mask"], ["--mask-names"]] as [[String]] {
            let made = try await Command.run(
                [
                    "case", store, "--record", "item 3 \u{1F600}", "--record", "item 4 \u{1F600}",
                    "--zone",
                    "lists", "-o", output,
                ] + mask,
                input: []
            )
            #expect(made.status == 0, "\(made.errors)")
            let figures = try #require(try made.objects().first)
            #expect(figures["records"] as? Int ?? 0 >= 2)
            let copy = folder.path("copy\(mask.first ?? "").tide")
            let imported = try await Command.run("import", copy, output)
            #expect(imported.status == 0, "\(imported.errors)")
            #expect(try imported.objects().first?["commits"] as? Int == figures["commits"] as? Int)
            let expected = try String(
                contentsOfFile: folder.path("case.expected.jsonl"),
                encoding: .utf8
            ).split(separator: "\n").map(String.init)
            #expect(expected.count == figures["live"] as? Int)
            let exported = try await Command.run("export", copy).lines.map { line in
                String(line).replacing(
                    /"recordChangeTag":"[^"]*","created":\{[^}]*\},"modified":\{[^}]*\},/,
                    with: ""
                )
            }
            #expect(exported == expected)
        }
    }

    @Test(arguments: ["", "-"])
    func `The two files of a case cannot go to standard output`(_ output: String) async throws {
        let store = try await folder.store(SampleHistory.lines(20))
        let made = try await Command.run("case", store, "--record", "r", "--output", output)
        #expect(made.status == 64)
        #expect(made.errors.contains("A case is two files"))
    }
}

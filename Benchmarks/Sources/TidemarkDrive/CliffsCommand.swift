// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import HotPaths

/// Measures work over growing inputs that it should not follow.
struct CliffsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cliffs",
        abstract:
            "Measure what must not grow with an input, over growing inputs, in processor time."
    )

    @Option(help: "Only the works with this in their name.")
    var only: String?
    @Option(help: "No input larger than this.")
    var largest = Int.max
    @Flag(help: "Also inputs larger than a million, which take minutes to make.")
    var long = false

    func run() throws {
        let limit = long ? largest : min(largest, 1_000_000)
        print("| work | grows | figures | bar |\n| --- | --- | --- | --- |")
        for cliff in Cliff.all where only.map(cliff.name.contains) ?? true {
            var figures: [String] = []
            for size in cliff.sizes where size <= limit {
                let figure = try cliff.measure(size)
                figures.append("\(size): \(Self.text(figure)) \(cliff.unit)")
                ScratchFolder.removeAll()
            }
            print(
                "| \(cliff.name) | \(cliff.input) | \(figures.joined(separator: ", ")) | \(cliff.bar) |"
            )
        }
    }

    private static func text(_ figure: Double) -> String {
        figure < 10 ? String(format: "%.1f", figure) : String(Int(figure.rounded()))
    }
}

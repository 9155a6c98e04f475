// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark schema validate`: finds the errors in a file.
struct SchemaValidateCommand: AsyncParsableCommand, FolderCommand {
    static let remedy = """
        It reads a file alone. Leave out --url; `tidemark schema import --dry-run` compares a file with \
        the schema of a server.
        """

    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a .ckdb file, and print its problems.",
        discussion: """
              tidemark schema validate notes.ckdb

            Prints one line for each problem, with its position in the file. Errors reject an \
            import, and the status is 1. Warnings name parts with an unexpected effect.
            """
    )

    @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["ckdb"]))
    var file: String

    @OptionGroup var options: OutputOptions

    func run() async throws {
        let text = try SchemaText(path: file)
        let problems = try text.file().problems()
        var printer = LinePrinter(options)
        for (problem, position) in problems {
            try printer.print(
                json: { $0.append(json: problem, at: position) },
                lines: { _ in ["\(text.name):\(position): \(problem)".printable] }
            )
        }
        try printer.flush()
        // Warnings do not reject an import, so they do not change the status.
        let errorCount = problems.count { $0.0.severity == .error }
        if errorCount > 0 {
            throw CommandError(
                "\(text.name): an import rejects it, because of "
                    + (errorCount == 1 ? "1 error." : "\(errorCount) errors.")
            )
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(json problem: SchemaProblem, at position: TextPosition) {
        append(literal: "{")
        append(member: "severity", jsonString: "\(problem.severity)")
        append(member: "line", jsonNumber: Int64(position.line))
        append(member: "column", jsonNumber: Int64(position.column))
        append(member: "message", jsonString: problem.message)
        append(member: "remedy", jsonString: problem.remedy)
        append(literal: "}")
    }
}

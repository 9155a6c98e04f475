// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark schema diff`: shows the differences between two schemas.
struct SchemaDiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Print what a promotion or an import would change.",
        discussion: """
            Without a file: what makes production's schema development's. With one: what makes \
            development's schema the file's. One line for each change, whether or not the change \
            would be allowed; nothing if they are equal.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["ckdb"]))
    var file: String?

    @OptionGroup var container: ContainerOption
    @OptionGroup var options: OutputOptions

    func run() async throws {
        let target = try file.map { try SchemaText(path: $0).file().schema }
        try await store.ask { service in
            let development = try await service.answer(
                SchemaCall(of: container.id, in: .development)
            )
            let changes =
                if let target {
                    development.changes(to: target)
                } else {
                    try await service.answer(SchemaCall(of: container.id, in: .production))
                        .changes(to: development)
                }
            try options.print(changes.map { "\($0)" })
        }
    }
}

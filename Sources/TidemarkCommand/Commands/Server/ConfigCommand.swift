// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import Foundation
import TidemarkModel

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Print and check the settings of a server.",
        subcommands: [ConfigCheckCommand.self]
    )
}

struct ConfigCheckCommand: FolderCommand {
    static let remedy = """
        It reads the settings of this machine. Run it where the server starts.
        """

    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Print each setting of `tidemark serve` and where it comes from.",
        discussion: """
              tidemark config check notes.tide --config tidemark.json

            A setting comes from its flag, else from its variable (TIDEMARK_PORT for port), else \
            from the JSON file that --config or TIDEMARK_CONFIG names, else it has its default. \
            The status is 1 if no server would start with the settings.
            """
    )

    @OptionGroup var flags: ServerFlags
    @OptionGroup var output: OutputOptions

    func run() throws {
        let settings = try ServerSettings(
            flags,
            environment: ProcessInfo.processInfo.environment
        )
        // Only for their errors: the table shows the values as they were given.
        _ = try settings.options()
        _ = try settings.storeOptions()
        try output.print(
            settings.all,
            in: Table([("setting", .left), ("value", .left), ("source", .left)])
        ) { bytes, setting in
            bytes.append(literal: "{")
            bytes.append(member: "setting", jsonString: setting.name)
            bytes.append(member: "value", jsonString: setting.text)
            bytes.append(member: "source", jsonString: setting.source)
            bytes.append(literal: "}")
        } row: { setting in
            [setting.name, setting.text, setting.source]
        }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import TidemarkModel
import TidemarkServer

struct ContainersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "containers",
        abstract: "List the containers of a server, and set their limits.",
        subcommands: [
            ContainersListCommand.self, ContainersAddCommand.self, ContainersSetCommand.self,
            ContainersRemoveCommand.self,
        ]
    )
}

/// A container of a store, by its identifier.
struct ContainerArgument: ParsableArguments {
    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The container's identifier.")
    var container: String

    /// The container as the server knows it; `nil` if it does not.
    func entry(by service: any AdministrationService) async throws -> ContainerEntry? {
        try await service.answer(AdministrationRequest.containers).containers
            .first { $0.limits.container == container }
    }
}

/// Limits of a container.
///
/// A limit that is not given stays, and `none` removes a limit.
struct ContainerLimitOptions: ParsableArguments {
    /// A limit, or its absence.
    struct Limit: ExpressibleByArgument {
        // Absent for `none`, which removes a limit. An option that is not given is absent itself.
        let value: Int?

        init?(argument: String) {
            if argument == "none" {
                value = nil
            } else if let number = ByteCount.number(argument), number > 0 {
                value = number
            } else {
                return nil
            }
        }
    }

    @Option(
        help: ArgumentHelp(
            "Bytes of all of its records and assets: a number with K, M, G or T, or none.",
            valueName: "bytes"
        )
    )
    var quota: Limit?

    @Option(help: ArgumentHelp("Bytes of one user's private database.", valueName: "bytes"))
    var userQuota: Limit?

    @Option(help: ArgumentHelp("Bytes of one public database.", valueName: "bytes"))
    var publicQuota: Limit?

    @Option(help: ArgumentHelp("Requests answered at the same time.", valueName: "count"))
    var requests: Limit?

    @Option(help: ArgumentHelp("Queries and deltas read at the same time.", valueName: "count"))
    var scans: Limit?

    func apply(to limits: inout ContainerLimits) {
        if let quota { limits.bytes = quota.value }
        if let userQuota { limits.privateBytes = userQuota.value }
        if let publicQuota { limits.publicBytes = publicQuota.value }
        if let requests { limits.requests = requests.value }
        if let scans { limits.scans = scans.value }
    }
}

struct ContainersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the containers that have tokens, keys, limits or records.",
        discussion: "  tidemark containers list notes.tide"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try output.print(
            try await store.administer(.containers).containers,
            in: Table([
                ("container", .left), ("tokens", .right), ("keys", .right), ("bytes", .right),
                ("user bytes", .right), ("public bytes", .right), ("requests", .right),
                ("scans", .right),
            ])
        ) { bytes, entry in
            let limits = entry.limits
            bytes.append(literal: "{")
            bytes.append(member: "container", jsonString: limits.container)
            bytes.append(member: "tokens", jsonNumber: entry.tokenCount)
            bytes.append(member: "keys", jsonNumber: entry.keyCount)
            bytes.append(member: "quota", jsonNumber: limits.bytes)
            bytes.append(member: "userQuota", jsonNumber: limits.privateBytes)
            bytes.append(member: "publicQuota", jsonNumber: limits.publicBytes)
            bytes.append(member: "requests", jsonNumber: limits.requests)
            bytes.append(member: "scans", jsonNumber: limits.scans)
            bytes.append(member: "records", jsonBool: entry.hasZones)
            bytes.append(literal: "}")
        } row: { entry in
            let limits = entry.limits
            return [limits.container, String(entry.tokenCount), String(entry.keyCount)]
                + [
                    limits.bytes, limits.privateBytes, limits.publicBytes, limits.requests,
                    limits.scans,
                ].map { $0.map(String.init) ?? "" }
        }
    }
}

struct ContainersAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Register a container, before there are tokens for it.",
        discussion: "  tidemark containers add notes.tide iCloud.org.example.notes --quota 10G"
    )

    @OptionGroup var container: ContainerArgument
    @OptionGroup var options: ContainerLimitOptions

    func run() async throws {
        try await container.store.administer(.creating) { service in
            if let entry = try await container.entry(by: service), entry.isRegistered {
                throw CommandError(
                    "The container \(container.container) is registered. Change its limits with `tidemark containers set`."
                )
            }
            var limits = ContainerLimits(ContainerID(container.container))
            options.apply(to: &limits)
            _ = try await service.answer(AdministrationRequest.setContainer(limits))
        }
    }
}

struct ContainersSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change the limits of a container. Limits that are not named stay as they are.",
        discussion: """
              tidemark containers set notes.tide iCloud.org.example.notes --user-quota none
            """
    )

    @OptionGroup var container: ContainerArgument
    @OptionGroup var options: ContainerLimitOptions

    func run() async throws {
        try await container.store.administer { service in
            guard let entry = try await container.entry(by: service) else {
                throw CommandError(
                    "There is no container \(container.container) on the server. Register it with `tidemark containers add`."
                )
            }
            // All limits are sent back. A change by another command since `entry(by:)` is
            // overwritten.
            var limits = entry.limits
            options.apply(to: &limits)
            _ = try await service.answer(AdministrationRequest.setContainer(limits))
        }
    }
}

struct ContainersRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract:
            "Close a container to everybody: end its tokens, keys and sessions, and its limits.",
        discussion: """
              tidemark containers remove notes.tide iCloud.org.example.notes

            What the container holds stays.
            """
    )

    @OptionGroup var container: ContainerArgument

    func run() async throws {
        try await container.store.administer(.closeContainer(container.container))
    }
}
#endif

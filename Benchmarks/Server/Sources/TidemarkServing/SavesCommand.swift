// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark

/// Saves batches of new records, and prints how many records a second that is.
struct SavesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "saves",
        abstract: "Saves batches of new records, and prints records a second."
    )

    @OptionGroup var service: ServiceOptions

    @Option(help: "The number of records in a batch.")
    var batch = 200

    @Option(help: "The number of batches of each task.")
    var batches = 50

    @Option(help: "The first letters of the records' names.")
    var prefix = "b"

    func run() async throws {
        try await service.use { service, caller in
            _ = try await service.modifyZones(ModifyZonesRequest(saves: [Notes.zone]), as: caller)
            let (batch, batches, prefix) = (batch, batches, prefix)
            let tasks = self.service.tasks
            let prepared = try (0..<tasks).map { task in
                try (0..<batches).map { number in
                    let names = (0..<batch).map { "\(prefix)-\(task)-\(number)-\($0)" }
                    return ModifyRecordsRequest(saves: try names.map(Notes.save))
                }
            }
            let time = try await seconds {
                try await inTasks(tasks) { task in
                    for request in prepared[task] {
                        let result = try await service.modifyRecords(request, as: caller)
                        for save in result.saves { _ = try save.get() }
                    }
                }
            }
            print(Int(Double(tasks * batches * batch) / time))
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark

/// Fetches all records of the zone as a new device, and prints how many a second that is.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Fetches all records as a new device, and prints records a second."
    )

    @OptionGroup var service: ServiceOptions

    @Option(help: "The number of times; the median is printed.")
    var rounds = 5

    func run() async throws {
        try await service.use { service, caller in
            var rates: [Double] = []
            for _ in 0..<rounds {
                var count = 0
                let time = try await seconds {
                    var request = ZoneChangesRequest(zone: Notes.zone, byteLimit: 1 << 20)
                    while true {
                        let page = try await service.zoneChanges(request, as: caller)
                        count += page.changes.count
                        request.since = page.token
                        guard page.moreComing else { break }
                    }
                }
                rates.append(Double(count) / time)
            }
            print(Int(rates.sorted()[rates.count / 2]))
        }
    }
}

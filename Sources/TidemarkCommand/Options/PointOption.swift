// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

/// At which moment of a store's history a command looks.
struct PointOption: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The state at a point: \(Point.explanation). Now, unless given.",
            valueName: "point"
        ),
        transform: { text in try Point(text) }
    )
    var at: Point?

    /// Returns the position, by a call to a service; `nil` for now.
    func position(by service: any AdministrationService) async throws -> SequenceNumber? {
        try await at?.position(by: service)
    }
}

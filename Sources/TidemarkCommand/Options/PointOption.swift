// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkModel

extension Option<Point?> {
    /// Creates an option for a point, which may begin with a minus sign.
    init(point help: String) {
        self.init(
            parsing: .unconditional,
            help: ArgumentHelp(help, valueName: "point"),
            transform: { text in try Point(text) }
        )
    }
}

/// At which moment of a store's history a command looks.
struct PointOption: ParsableArguments {
    @Option(point: "The state at a point: \(Point.explanation). Now, unless given.")
    var at: Point?

    /// Returns the position, by a call to a service; `nil` for now.
    func position(by service: any AdministrationService) async throws -> SequenceNumber? {
        try await at?.position(by: service)
    }
}

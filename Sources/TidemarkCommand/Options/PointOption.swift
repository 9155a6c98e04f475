// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark

/// At which moment of a store's history a command looks.
struct PointOption: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How it was at a point: \(Point.explanation). Now, unless given.",
            valueName: "point"
        ),
        transform: { text in try Point(text) }
    )
    var at: Point?

    /// The position in a store; `nil` for now.
    func position(in store: Store) throws -> SequenceNumber? {
        try at?.position(in: store)
    }
}

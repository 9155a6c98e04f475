// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark

/// How long something is kept, as an argument: `all`, `none`, or a duration such as `30d`.
struct RetentionArgument: ExpressibleByArgument {
    let retention: CompactionPolicy.Retention

    private static let units: [(letter: Character, milliseconds: Int64)] = [
        ("s", 1000), ("m", 60 * 1000), ("h", 60 * 60 * 1000), ("d", 24 * 60 * 60 * 1000),
        ("w", 7 * 24 * 60 * 60 * 1000), ("y", 365 * 24 * 60 * 60 * 1000),
    ]

    init(_ retention: CompactionPolicy.Retention) {
        self.retention = retention
    }

    /// A number and the first letter of seconds, minutes, hours, days, weeks or years.
    init?(argument: String) {
        switch argument {
        case "all": retention = .all
        case "none": retention = .none
        default:
            guard let letter = argument.last, let number = Int64(argument.dropLast()), number >= 0,
                argument.first?.isNumber ?? false,
                let unit = Self.units.first(where: { $0.letter == letter })
            else { return nil }
            let (product, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
            retention = overflow ? .all : .milliseconds(product)
        }
    }

    var defaultValueDescription: String {
        switch retention {
        case .all: "all"
        case .none: "none"
        case .milliseconds(let count):
            Self.units.last { count % $0.milliseconds == 0 && $0.letter != "w" }
                .map { "\(count / $0.milliseconds)\($0.letter)" } ?? "\(count) ms"
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkLock
import TidemarkModel

extension TidemarkCloud {
    /// The unit of distances in predicates.
    ///
    /// Guides to CloudKit disagree about the unit of `distanceToLocation:fromLocation:`, and so do
    /// programs. Everything else is in metres: `CLLocation`, the engine, and the text of
    /// predicates.
    public enum DistanceUnit: String, CaseIterable, Sendable {
        /// Metres.
        case meters
        /// Kilometres: a predicate's distances are multiplied by 1,000.
        case kilometers
    }

    private static let unit = Lock(
        DistanceUnit(environment: ProcessInfo.processInfo.environment["TIDEMARK_DISTANCE_UNIT"])
    )

    /// The unit of distances in predicates that are created from now on.
    ///
    /// Metres, unless the environment variable `TIDEMARK_DISTANCE_UNIT` is `kilometers`. Any other
    /// value than the two names stops the program with the first predicate.
    public static var distanceUnit: DistanceUnit {
        get { unit.withLock { $0 } }
        set { unit.withLock { $0 = newValue } }
    }
}

extension TidemarkCloud.DistanceUnit {
    /// Creates the unit that a value of the environment variable names.
    init(environment name: String?) {
        guard let name else {
            self = .meters
            return
        }
        guard let unit = Self(rawValue: name) else {
            preconditionFailure(
                "TIDEMARK_DISTANCE_UNIT is '\(name)'; set it to 'meters' or 'kilometers', or unset it."
            )
        }
        self = unit
    }
}

extension Query.Predicate {
    /// Returns the predicate with its distances, which are in a unit, in metres.
    func inMeters(_ unit: TidemarkCloud.DistanceUnit) -> Query.Predicate {
        guard unit == .kilometers else { return self }
        return switch self {
        case .always, .never, .comparison, .words: self
        case .distance(let test):
            .distance(
                Query.DistanceTest(test.key, from: test.origin, test.relation, test.radius * 1000)
            )
        case .and(let parts): .and(parts.map { $0.inMeters(unit) })
        case .or(let parts): .or(parts.map { $0.inMeters(unit) })
        case .not(let part): .not(part.inMeters(unit))
        }
    }
}

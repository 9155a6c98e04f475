// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#endif

/// A place in degrees, and distances from it.
struct Coordinates: Sendable {
    var latitude: Double
    var longitude: Double

    /// Returns the distance in metres on the surface of a sphere (haversine formula).
    ///
    /// Within 0.6 % of the distance on the ellipsoid; exact to less than a millimetre on the
    /// sphere.
    func distance(to other: Coordinates) -> Double {
        let degree = Double.pi / 180
        let northward = sin((other.latitude - latitude) * degree / 2)
        let eastward = sin((other.longitude - longitude) * degree / 2)
        let chord =
            northward * northward
            + cos(latitude * degree) * cos(other.latitude * degree) * eastward * eastward
        // Rounding can make the root exceed 1 for opposite points.
        return 2 * Location.earthRadius * asin(min(1, chord.squareRoot()))
    }
}

extension Coordinates {
    init(_ place: Location) {
        self.init(latitude: place.latitude, longitude: place.longitude)
    }
}

extension Location {
    /// The mean radius of the Earth in metres, as defined for a sphere.
    package static let earthRadius = 6_371_008.8

    /// Returns the distance in metres to another place, as in queries: on a sphere of the Earth's
    /// mean radius.
    public func distance(to other: Location) -> Double {
        Coordinates(self).distance(to: Coordinates(other))
    }
}

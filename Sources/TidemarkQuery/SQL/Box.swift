// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#endif

/// A range of latitudes and longitudes in degrees that contains locations.
struct Box {
    var south: Double
    var north: Double
    var west: Double
    var east: Double

    /// Returns boxes that together contain all locations within a radius in metres, and more; `nil`
    /// if that is most of the Earth.
    ///
    /// There are two boxes if the circle crosses the antimeridian.
    static func boxes(around origin: Location, radius: Double) -> [Box]? {
        guard radius >= 0 else { return nil }
        let degree = Double.pi / 180
        // Slightly more than the angle, to compensate for rounding.
        let angle = radius / Location.earthRadius * (1 + 1e-9) + 1e-9
        // Below a quarter of a circle (1.57 radians), where the formula for the spread is valid.
        guard angle < 1.5 else { return nil }
        let south = origin.latitude - angle / degree
        let north = origin.latitude + angle / degree
        guard south > -90, north < 90 else {
            // A pole is inside, so the circle crosses every meridian.
            return [Box(south: max(south, -90), north: min(north, 90), west: -180, east: 180)]
        }
        let spread = asin(min(1, sin(angle) / cos(origin.latitude * degree))) / degree + 1e-9
        let west = origin.longitude - spread
        let east = origin.longitude + spread
        let box = Box(south: south, north: north, west: max(west, -180), east: min(east, 180))
        if west <= -180 {
            return [box, Box(south: south, north: north, west: west + 360, east: 180)]
        }
        if east >= 180 {
            return [box, Box(south: south, north: north, west: -180, east: east - 360)]
        }
        return [box]
    }
}

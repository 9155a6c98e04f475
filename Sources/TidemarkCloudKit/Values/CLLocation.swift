// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

// Core Location does not exist here. No module of that name is shipped: `canImport(CoreLocation)`
// would then be true in other packages, which need far more of it.

/// Degrees of latitude or longitude.
public typealias CLLocationDegrees = Double
/// Metres between two places, or above the sea.
public typealias CLLocationDistance = Double
/// The possible error of a place in metres; negative if the place is not valid.
public typealias CLLocationAccuracy = Double
/// Metres per second.
public typealias CLLocationSpeed = Double
/// Degrees clockwise from north.
public typealias CLLocationDirection = Double

/// A latitude and a longitude.
public struct CLLocationCoordinate2D: Sendable {
    /// Degrees north.
    public var latitude: CLLocationDegrees
    /// Degrees east.
    public var longitude: CLLocationDegrees

    /// Latitude and longitude 0.
    public init() {
        self.init(latitude: 0, longitude: 0)
    }

    /// Pairs a latitude with a longitude.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Pairs a latitude with a longitude.
public func CLLocationCoordinate2DMake(
    _ latitude: CLLocationDegrees,
    _ longitude: CLLocationDegrees
) -> CLLocationCoordinate2D {
    CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Returns true if the coordinate is a valid place.
public func CLLocationCoordinate2DIsValid(_ coordinate: CLLocationCoordinate2D) -> Bool {
    (-90.0...90.0).contains(coordinate.latitude) && (-180.0...180.0).contains(coordinate.longitude)
}

/// An invalid coordinate.
public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(latitude: -180, longitude: -180)

/// A place on Earth: as much of Core Location's as records need.
///
/// Unchecked: immutable.
open class CLLocation: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// Latitude and longitude.
    public let coordinate: CLLocationCoordinate2D
    /// Metres above the sea.
    public let altitude: CLLocationDistance
    /// The possible error of the coordinate in metres; negative if the coordinate is not valid.
    public let horizontalAccuracy: CLLocationAccuracy
    /// The possible error of the altitude in metres; negative if the altitude is not valid.
    public let verticalAccuracy: CLLocationAccuracy
    /// The direction in degrees clockwise from north; negative if it is not valid.
    public let course: CLLocationDirection
    /// The speed in metres per second; negative if it is not valid.
    public let speed: CLLocationSpeed
    /// The time of the measurement.
    public let timestamp: Date

    /// Creates a place from a coordinate only.
    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude),
            altitude: 0,
            horizontalAccuracy: 0,
            verticalAccuracy: -1,
            timestamp: Date()
        )
    }

    /// Creates a place with its accuracy.
    public convenience init(
        coordinate: CLLocationCoordinate2D,
        altitude: CLLocationDistance,
        horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy,
        timestamp: Date
    ) {
        self.init(
            coordinate: coordinate,
            altitude: altitude,
            horizontalAccuracy: horizontalAccuracy,
            verticalAccuracy: verticalAccuracy,
            course: -1,
            speed: -1,
            timestamp: timestamp
        )
    }

    /// Creates a place with its accuracy and a movement.
    public init(
        coordinate: CLLocationCoordinate2D,
        altitude: CLLocationDistance,
        horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy,
        course: CLLocationDirection,
        speed: CLLocationSpeed,
        timestamp: Date
    ) {
        self.coordinate = coordinate
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.course = course
        self.speed = speed
        self.timestamp = timestamp
    }

    /// Returns the metres to another place along a sphere with the Earth's mean radius.
    open func distance(from location: CLLocation) -> CLLocationDistance {
        let radians = Double.pi / 180
        let (a, b) = (coordinate, location.coordinate)
        let north = sin((b.latitude - a.latitude) * radians / 2)
        let east = sin((b.longitude - a.longitude) * radians / 2)
        let along = cos(a.latitude * radians) * cos(b.latitude * radians)
        let half = north * north + along * east * east
        // The haversine formula, with the radius that queries use
        // (`Query.Coordinates.earthRadius`). Rounding can make the root exceed 1 for opposite
        // points.
        return 2 * 6_371_008.8 * asin(min(1, half.squareRoot()))
    }

    // MARK: Equality

    /// Returns true if the other object has the same values of the same place.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CLLocation)?.archived == archived
    }

    /// Follows from the coordinate.
    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(coordinate.latitude)
        hasher.combine(coordinate.longitude)
        return hasher.finalize()
    }

    /// The coordinate and its accuracy.
    open override var description: String {
        "<\(coordinate.latitude),\(coordinate.longitude)> +/- \(horizontalAccuracy)m"
    }

    // MARK: Copying and coding

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// All properties, as they are archived.
    struct Archive: Codable, Equatable {
        var latitude: Double
        var longitude: Double
        var altitude: Double
        var horizontalAccuracy: Double
        var verticalAccuracy: Double
        var course: Double
        var speed: Double
        var time: Double
    }

    var archived: Archive {
        Archive(
            latitude: coordinate.latitude,
            longitude: coordinate.longitude,
            altitude: altitude,
            horizontalAccuracy: horizontalAccuracy,
            verticalAccuracy: verticalAccuracy,
            course: course,
            speed: speed,
            time: timestamp.timeIntervalSinceReferenceDate
        )
    }

    init(_ archive: Archive) {
        coordinate = CLLocationCoordinate2D(
            latitude: archive.latitude,
            longitude: archive.longitude
        )
        altitude = archive.altitude
        horizontalAccuracy = archive.horizontalAccuracy
        verticalAccuracy = archive.verticalAccuracy
        course = archive.course
        speed = archive.speed
        timestamp = Date(timeIntervalSinceReferenceDate: archive.time)
    }

    /// Writes all that is known.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: archived)
    }

    /// Reads a place.
    public required convenience init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self) else { return nil }
        self.init(archive)
    }
}

// MARK: The service

extension CLLocation {
    convenience init(_ model: Location) {
        self.init(
            coordinate: CLLocationCoordinate2D(
                latitude: model.latitude,
                longitude: model.longitude
            ),
            // Core Location marks an unknown accuracy, course or speed by a negative number.
            altitude: model.altitude ?? 0,
            horizontalAccuracy: model.horizontalAccuracy ?? 0,
            verticalAccuracy: model.verticalAccuracy ?? -1,
            course: model.course ?? -1,
            speed: model.speed ?? -1,
            // An unknown time is 1970, because Core Location's is not an optional.
            timestamp: model.timestamp.map { Date(milliseconds: $0) } ?? Date(milliseconds: 0)
        )
    }

    /// The place as a service keeps it.
    ///
    /// Throws `invalidArguments` for a time that is out of range.
    var model: Location {
        get throws(CKError) {
            Location(
                latitude: coordinate.latitude,
                longitude: coordinate.longitude,
                horizontalAccuracy: horizontalAccuracy,
                verticalAccuracy: verticalAccuracy,
                altitude: altitude,
                speed: speed,
                course: course,
                timestamp: try timestamp.milliseconds
            )
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TidemarkModel

/// The SQL functions that call the model, so that each rule has one implementation.
enum SQLFunctions {
    /// Adds the functions to a connection.
    ///
    /// `tidemark_fold(text, options)` returns a text without the differences that the options
    /// ignore; `tidemark_distance(place, latitude, longitude)` returns metres, or NULL if there is
    /// no location.
    static func add(to database: Database) {
        database.add(
            function: DatabaseFunction("tidemark_fold", argumentCount: 2, pure: true) { values in
                guard case .blob(let text) = values[0].storage,
                    case .int64(let bits) = values[1].storage
                else { return nil }
                let bytes = [UInt8](text)
                let options = Query.TextOptions(rawValue: UInt8(truncatingIfNeeded: bits))
                return Data(FoldedText.bytes(in: bytes.span.bytes, 0..<bytes.count, options))
            }
        )
        database.add(
            function: DatabaseFunction("tidemark_distance", argumentCount: 3, pure: true) {
                values in
                guard case .blob(let place) = values[0].storage,
                    case .double(let latitude) = values[1].storage,
                    case .double(let longitude) = values[2].storage,
                    let location = Location(stored: [UInt8](place))
                else { return nil }
                let origin = Location(latitude: latitude, longitude: longitude)
                return origin.distance(to: location)
            }
        )
    }
}

extension Location {
    /// The coordinates as stored: 16 bytes, equal for equal locations.
    var stored: [UInt8] {
        [latitude, longitude].flatMap { number in
            // Minus zero equals zero.
            Swift.withUnsafeBytes(of: (number == 0 ? 0 : number).bitPattern.bigEndian, Array.init)
        }
    }

    init?(stored bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        let words = [bytes[..<8], bytes[8...]].map { half in
            half.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        }
        self.init(
            latitude: Double(bitPattern: words[0]),
            longitude: Double(bitPattern: words[1])
        )
    }
}

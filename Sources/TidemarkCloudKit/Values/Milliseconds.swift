// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Date {
    /// Creates a date from a service's time.
    init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// The milliseconds since 1970, as a service stores times.
    ///
    /// Throws `invalidArguments` if they do not fit 64 bits.
    var milliseconds: Int64 {
        get throws(CKError) {
            // Rounded first: the conversion then fails only for numbers out of range and for NaN.
            guard let whole = Int64(exactly: (timeIntervalSince1970 * 1000).rounded()) else {
                throw CKError(
                    .invalidArguments,
                    "The date \(timeIntervalSince1970) seconds after 1970 is out of range."
                )
            }
            return whole
        }
    }
}

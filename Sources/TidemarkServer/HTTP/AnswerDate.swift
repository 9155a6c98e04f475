// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import TidemarkLock
import TidemarkModel

/// The field `Date` of an answer: the time to the second, as HTTP writes it.
enum AnswerDate {
    private static let latest = Lock((second: Int64.min, field: HTTPField(name: .date, value: "")))

    /// Returns the field for a time, in milliseconds since 1970.
    static func field(at time: Int64 = Clock.now()) -> HTTPField {
        let second = time / 1000
        return latest.withLock { latest in
            // Most answers are of the same second as the one before.
            if latest.second != second {
                latest = (second, HTTPField(name: .date, value: text(second: second)))
            }
            return latest.field
        }
    }

    /// Returns the text for a second since 1970 (RFC 9110, section 5.6.7).
    static func text(second: Int64) -> String {
        let date = RFC3339.text(milliseconds: second * 1000).split { "-T:Z".contains($0) }
        // January 1, 1970 was a Thursday.
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let weekday = weekdays[Int(second / 86_400 % 7)]
        let month = months[(Int(date[1]) ?? 1) - 1]
        return "\(weekday), \(date[2]) \(month) \(date[0]) \(date[3]):\(date[4]):\(date[5]) GMT"
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import TidemarkWire

/// The names of fields that have no constant in HTTPTypes.
///
/// Constants, because creating a name checks and lower-cases it.
extension HTTPField.Name {
    static let forwardedFor = constant("X-Forwarded-For")
    static let traceparent = constant("traceparent")
    static let tidemarkExtensions = constant("X-Tidemark-Extensions")
    static let tidemarkRequest = constant(HeaderValue.request)
    static let tidemarkAnswer = constant(HeaderValue.answer)
    static let tidemarkRequestID = constant(HeaderValue.requestID)
    static let tidemarkUser = constant(HeaderValue.user)
    static let tidemarkOwner = constant(HeaderValue.owner)
    static let tidemarkBuild = constant(HeaderValue.build)
    static let lastEventID = constant("Last-Event-ID")
    static let keyID = constant("X-Apple-CloudKit-Request-KeyID")
    static let signatureDate = constant("X-Apple-CloudKit-Request-ISO8601Date")
    static let signature = constant("X-Apple-CloudKit-Request-SignatureV1")
    static let requestUUID = constant("X-Apple-Request-UUID")
    static let cloudKitVersion = constant("X-Apple-CloudKit-Version")
    static let webAuthToken = constant("X-Apple-CloudKit-Web-Auth-Token")
    static let accelBuffering = constant("X-Accel-Buffering")
    static let referrerPolicy = constant("Referrer-Policy")
    static let fetchSite = constant("Sec-Fetch-Site")
    static let fetchDestination = constant("Sec-Fetch-Dest")

    private static func constant(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else {
            preconditionFailure("'\(name)' is not a field name")
        }
        return name
    }
}
#endif

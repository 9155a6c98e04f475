// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

extension CKOperation {
    /// The settings of an operation.
    ///
    /// A setting that is not set is taken from the operation's group, and then from the defaults.
    ///
    /// Unchecked: set before the operation is added to a queue, and not afterwards.
    open class Configuration: NSObject, NSCopying, @unchecked Sendable {
        // Both are the defaults of Apple's framework: a minute and seven days.
        static let requestTimeout: TimeInterval = 60
        static let resourceTimeout: TimeInterval = 7 * 24 * 60 * 60

        /// The settings that were set.
        struct Settings {
            var container: CKContainer?
            var qualityOfService: QualityOfService?
            var allowsCellularAccess: Bool?
            var isLongLived: Bool?
            var timeoutIntervalForRequest: TimeInterval?
            var timeoutIntervalForResource: TimeInterval?

            /// Returns these settings, completed by others.
            func over(_ others: Settings?) -> Settings {
                guard let others else { return self }
                var settings = self
                settings.container = container ?? others.container
                settings.qualityOfService = qualityOfService ?? others.qualityOfService
                settings.allowsCellularAccess = allowsCellularAccess ?? others.allowsCellularAccess
                settings.isLongLived = isLongLived ?? others.isLongLived
                settings.timeoutIntervalForRequest =
                    timeoutIntervalForRequest ?? others.timeoutIntervalForRequest
                settings.timeoutIntervalForResource =
                    timeoutIntervalForResource ?? others.timeoutIntervalForResource
                return settings
            }
        }

        private(set) var settings = Settings()

        /// Sets nothing.
        public override init() {}

        /// Copies the settings of a configuration; sets nothing if there is none.
        init(copying other: Configuration?) {
            settings = other?.settings ?? Settings()
        }

        /// Returns a copy.
        open func copy(with zone: NSZone? = nil) -> Any { Configuration(copying: self) }

        /// The container, for an operation that is not added to one.
        open var container: CKContainer? {
            get { settings.container }
            set { settings.container = newValue }
        }

        /// The urgency of the operation.
        ///
        /// At `utility` and below, calls are repeated if that may help.
        open var qualityOfService: QualityOfService {
            get { settings.qualityOfService ?? .default }
            set { settings.qualityOfService = newValue }
        }

        /// Ignored: there is no network of that kind.
        open var allowsCellularAccess: Bool {
            get { settings.allowsCellularAccess ?? true }
            set { settings.allowsCellularAccess = newValue }
        }

        /// True if the operation can be found again after a restart.
        open var isLongLived: Bool {
            get { settings.isLongLived ?? false }
            set { settings.isLongLived = newValue }
        }

        /// Seconds after which a request that was not answered fails.
        open var timeoutIntervalForRequest: TimeInterval {
            get { settings.timeoutIntervalForRequest ?? Self.requestTimeout }
            set { settings.timeoutIntervalForRequest = newValue }
        }

        /// Seconds for which the operation is repeated.
        open var timeoutIntervalForResource: TimeInterval {
            get { settings.timeoutIntervalForResource ?? Self.resourceTimeout }
            set { settings.timeoutIntervalForResource = newValue }
        }
    }
}

/// A user whose account was checked; `nil` if nobody was signed in.
struct CheckedAccount: Sendable {
    let user: UserID?
}

/// The defaults of operations that `configuredWith` adds to a container or database.
struct OperationDefaults: Sendable {
    var configuration: CKOperation.Configuration?
    var group: CKOperationGroup?
    /// The user who was signed in when a sync engine checked the account: it sends that user's changes.
    var account: CheckedAccount?

    /// Returns the defaults of a body that is run inside.
    func inside(
        _ configuration: CKOperation.Configuration?,
        _ group: CKOperationGroup?
    ) -> OperationDefaults {
        // A copy: the program may change its object while operations of the body still wait.
        let own = configuration.map { CKOperation.Configuration(copying: $0) }
        return OperationDefaults(
            configuration: own ?? self.configuration,
            group: group ?? self.group,
            account: account
        )
    }

    var settings: CKOperation.Configuration.Settings {
        (configuration?.settings ?? .init()).over(group?.settings)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension FileManager {
    /// A token that stands for the user who is signed in; `nil` if nobody is.
    ///
    /// Foundation has this on Apple's systems, where programs ask by it whether there is an
    /// account: compare tokens by `isEqual`.
    public var ubiquityIdentityToken: (any NSCoding & NSCopying & NSObjectProtocol)? {
        TidemarkDevice.current.user.map { NSString(string: $0) }
    }
}

extension Foundation.Notification.Name {
    // Foundation's name.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// Another user is signed in, or nobody is any more: `FileManager.ubiquityIdentityToken` is
    /// another.
    public static let NSUbiquityIdentityDidChange = Self("NSUbiquityIdentityDidChangeNotification")
}

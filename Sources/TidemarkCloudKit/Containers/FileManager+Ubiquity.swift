// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension FileManager {
    /// A token for the signed-in user; `nil` if nobody is signed in.
    ///
    /// Foundation has this property on Apple's systems, where programs use it to check if there is
    /// an account. Compare tokens with `isEqual`.
    public var ubiquityIdentityToken: (any NSCoding & NSCopying & NSObjectProtocol)? {
        TidemarkDevice.current.user.map { NSString(string: $0) }
    }
}

extension Foundation.Notification.Name {
    // Foundation's name.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// Posted when another user has signed in, or the user has signed out.
    ///
    /// `FileManager.ubiquityIdentityToken` has changed.
    public static let NSUbiquityIdentityDidChange = Self("NSUbiquityIdentityDidChangeNotification")
}

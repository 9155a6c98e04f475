// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

// Foundation on Linux has names and no way to format them, and programs that share records format
// the names of owners and participants. These functions replace it. The order of the parts depends
// on the script of the name only, because there are no user settings.
extension PersonNameComponents {
    /// The format of a name.
    public struct FormatStyle: Foundation.FormatStyle, Codable, Hashable, Sendable {
        /// The length of the name.
        public enum Style: Int, Codable, Hashable, Sendable {
            /// The nickname, or else the given name.
            case short
            /// Given name and family name.
            case medium
            /// All parts, but for the nickname.
            case long
            /// Initials.
            case abbreviated
        }

        /// The length of the name.
        public var style: Style
        /// The locale, which is stored and not used.
        public var locale: Locale

        /// Creates a format of names.
        public init(style: Style = .medium, locale: Locale = .autoupdatingCurrent) {
            self.style = style
            self.locale = locale
        }

        /// Returns a copy with a locale.
        public func locale(_ locale: Locale) -> Self {
            Self(style: style, locale: locale)
        }

        /// Returns the name as a text; empty if it has none of the written parts.
        public func format(_ name: PersonNameComponents) -> String {
            let (given, family) = (name.givenName.part, name.familyName.part)
            switch style {
            case .short:
                return name.nickname.part ?? given ?? family ?? ""
            case .medium:
                return name.joined([given], family)
            case .long:
                let first = [name.namePrefix.part, given, name.middleName.part]
                return name.joined(first, family, name.nameSuffix.part)
            case .abbreviated:
                if name.isFamilyFirst { return family ?? given ?? "" }
                return [given, family].compactMap { $0?.first.map { String($0) } }.joined()
                    .uppercased()
            }
        }
    }

    /// Returns the given name and the family name.
    public func formatted() -> String {
        FormatStyle().format(self)
    }

    /// Returns the name in a format: `.name(style: .long)`.
    public func formatted<Style: Foundation.FormatStyle>(
        _ style: Style
    ) -> Style.FormatOutput where Style.FormatInput == PersonNameComponents {
        style.format(self)
    }

    /// True if the family name comes first in the name's script, without a space after it.
    fileprivate var isFamilyFirst: Bool {
        let letters = [givenName, familyName].compactMap(\.part).joined().unicodeScalars
        return !letters.isEmpty
            && letters.allSatisfy { letter in
                switch letter.value {
                // Kana; ideographs and their extensions; syllables of Hangul.
                case 0x3005...0x3007, 0x3040...0x30FF, 0x3400...0x9FFF, 0xAC00...0xD7A3,
                    0xF900...0xFAFF, 0x20000...0x323AF:
                    true
                default: false
                }
            }
    }

    fileprivate func joined(
        _ first: [String?],
        _ family: String?,
        _ suffix: String? = nil
    ) -> String {
        let parts = isFamilyFirst ? [family] + first : first + [family]
        return (parts + [suffix]).compactMap(\.self).joined(separator: isFamilyFirst ? "" : " ")
    }
}

extension FormatStyle where Self == PersonNameComponents.FormatStyle {
    /// Returns a person's name.
    public static func name(style: Self.Style) -> Self {
        Self(style: style)
    }
}

extension String? {
    /// A part of a name; `nil` if it is empty.
    fileprivate var part: String? {
        guard let text = self?.trimmingCharacters(in: .whitespaces), !text.isEmpty else {
            return nil
        }
        return text
    }
}

/// Writes names of persons as texts.
///
/// In place of the class of Foundation on Linux, whose methods cannot be called.
///
/// Unchecked: as with Foundation's formatters, a program sets the properties before it uses the
/// formatter on other threads.
open class PersonNameComponentsFormatter: Formatter, @unchecked Sendable {
    /// The length of a written name.
    public enum Style: Int, Sendable {
        /// As `medium`.
        case `default`
        /// The nickname, or else the given name.
        case short
        /// Given name and family name.
        case medium
        /// All parts, but for the nickname.
        case long
        /// Initials.
        case abbreviated
    }

    /// Other options of the format.
    public struct Options: OptionSet, Sendable {
        /// The options as bits.
        public let rawValue: UInt

        /// Options by their bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// The phonetic representation in place of the name.
        public static let phonetic = Options(rawValue: 1 << 1)
    }

    /// The length of a written name.
    open var style: Style = .default
    /// True if the phonetic representation is written.
    open var isPhonetic = false

    /// Returns the name as a text.
    open func string(from components: PersonNameComponents) -> String {
        let written = isPhonetic ? components.phoneticRepresentation ?? components : components
        let style: PersonNameComponents.FormatStyle.Style =
            switch style {
            case .default, .medium: .medium
            case .short: .short
            case .long: .long
            case .abbreviated: .abbreviated
            }
        return PersonNameComponents.FormatStyle(style: style).format(written)
    }

    /// Returns the name as a text; `nil` for an object that is not a name.
    open override func string(for obj: Any?) -> String? {
        (obj as? PersonNameComponents).map { string(from: $0) }
    }

    /// Returns the name as a text.
    open class func localizedString(
        from components: PersonNameComponents,
        style nameFormatStyle: Style,
        options nameOptions: Options = []
    ) -> String {
        let formatter = PersonNameComponentsFormatter()
        formatter.style = nameFormatStyle
        formatter.isPhonetic = nameOptions.contains(.phonetic)
        return formatter.string(from: components)
    }
}

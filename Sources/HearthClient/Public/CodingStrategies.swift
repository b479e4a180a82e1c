/// How a `Date` of Foundation is written.
public enum DatabaseDateStrategy: Hashable, Sendable {
    /// Milliseconds since 1970, like ``ServerValue/timestamp()`` and JavaScript's `Date.now()`.
    case millisecondsSince1970
    /// Seconds since 1970, with a fraction.
    case secondsSince1970
    /// As `Date` codes itself: seconds since 2001.
    case deferredToDate
}

/// How `Data` of Foundation is written.
public enum DatabaseDataStrategy: Hashable, Sendable {
    /// As Base64 text.
    case base64
    /// As `Data` codes itself: an array of numbers.
    case deferredToData
}

/// How ``DatabaseEncoder`` and ``DatabaseDecoder`` write and read types that have several forms. Both take the same
/// options, so that what one writes the other reads.
public struct DatabaseCodingOptions: Sendable {
    /// How dates are written.
    public var dateStrategy: DatabaseDateStrategy
    /// How `Data` is written.
    public var dataStrategy: DatabaseDataStrategy
    /// For the types that are encoded and decoded.
    public var userInfo: [CodingUserInfoKey: any Sendable]

    /// All options with their defaults.
    public init(
        dateStrategy: DatabaseDateStrategy = .millisecondsSince1970, dataStrategy: DatabaseDataStrategy = .base64,
        userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) {
        self.dateStrategy = dateStrategy
        self.dataStrategy = dataStrategy
        self.userInfo = userInfo
    }
}

/// Types of Foundation that have a form of their own in a database. They are known by name, since this library does
/// not use Foundation.
enum FoundationType {
    case date
    case data
    case url

    fileprivate init?(_ type: Any.Type) {
        switch String(reflecting: type) {
        case "Foundation.Date", "FoundationEssentials.Date": self = .date
        case "Foundation.Data", "FoundationEssentials.Data": self = .data
        case "Foundation.URL", "FoundationEssentials.URL": self = .url
        default: return nil
        }
    }

    /// Seconds between 1970 and 2001, from which `Date` counts in its own coding.
    static let referenceDate = 978_307_200.0
}

/// What all levels of one value that is being coded share.
final class CodingContext {
    let options: DatabaseCodingOptions
    let userInfo: [CodingUserInfoKey: Any]
    /// Finding out a type's name costs more than coding a small value.
    private var known: [ObjectIdentifier: FoundationType?] = [:]

    init(_ options: DatabaseCodingOptions) { (self.options, userInfo) = (options, options.userInfo) }

    /// Nil for other types, and for those that are to code themselves.
    func foundationType(_ type: Any.Type) -> FoundationType? {
        let id = ObjectIdentifier(type)
        if let found = known[id] { return found }
        var found = FoundationType(type)
        if found == .date, options.dateStrategy == .deferredToDate { found = nil }
        if found == .data, options.dataStrategy == .deferredToData { found = nil }
        known[id] = .some(found)
        return found
    }
}

/// A key that stands for no member of a type: an index of an array, or a child's key.
struct PlainCodingKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ text: String) { (stringValue, intValue) = (text, nil) }
    init(_ index: Int) { (stringValue, intValue) = (String(index), index) }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(intValue) }
}

extension [any CodingKey] {
    /// To be put after a text; empty at the top.
    var place: String { isEmpty ? "" : " at \(map(\.stringValue).joined(separator: "/"))" }
}

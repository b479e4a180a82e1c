/// The form of Foundation's `Date`.
public enum DatabaseDateStrategy: Hashable, Sendable {
    /// Milliseconds since 1970, like ``ServerValue/timestamp()`` and JavaScript's `Date.now()`.
    case millisecondsSince1970
    /// Seconds since 1970, with a fraction.
    case secondsSince1970
    /// The form in which `Date` encodes itself: seconds since 2001.
    case deferredToDate
}

/// The form of Foundation's `Data`.
public enum DatabaseDataStrategy: Hashable, Sendable {
    /// As Base64 text.
    case base64
    /// The form in which `Data` encodes itself: an array of numbers.
    case deferredToData
}

/// The forms that ``DatabaseEncoder`` and ``DatabaseDecoder`` use for types that have several. Both take the same
/// options, so each reads values that the other wrote.
public struct DatabaseCodingOptions: Sendable {
    /// The form of dates.
    public var dateStrategy: DatabaseDateStrategy
    /// The form of `Data`.
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

/// Foundation types with a special form in a database. They are recognised by name, since this library does not use
/// Foundation.
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

/// State that all levels of one value share while it is coded.
final class CodingContext {
    let options: DatabaseCodingOptions
    let userInfo: [CodingUserInfoKey: Any]
    /// Determining a type's name costs more than coding a small value.
    private var known: [ObjectIdentifier: FoundationType?] = [:]

    init(_ options: DatabaseCodingOptions) { (self.options, userInfo) = (options, options.userInfo) }

    /// Nil for other types, and for those that code themselves.
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

/// A key that is not a member of a type: an index of an array, or a child's key.
struct PlainCodingKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ text: String) { (stringValue, intValue) = (text, nil) }
    init(_ index: Int) { (stringValue, intValue) = (String(index), index) }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(intValue) }
}

extension [any CodingKey] {
    /// The path as a suffix for a message; empty at the top.
    var place: String { isEmpty ? "" : " at \(map(\.stringValue).joined(separator: "/"))" }
}

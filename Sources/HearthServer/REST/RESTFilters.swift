import JSONTree

/// The parameters that order and narrow what is read (rest 4.3), as they came.
struct RESTFilters: Equatable {
    private var orderBy: [UInt8]?
    private var limitToFirst: [UInt8]?
    private var limitToLast: [UInt8]?
    private var equalTo: [UInt8]?
    private var startAfter: [UInt8]?
    /// `startAt`, `endAt`, `endBefore`.
    private var otherBounds: [[UInt8]] = []

    var isEmpty: Bool { self == RESTFilters() }

    mutating func set(_ name: String, _ value: [UInt8]) {
        switch name {
        case "orderBy": orderBy = value
        case "limitToFirst": limitToFirst = value
        case "limitToLast": limitToLast = value
        case "equalTo": equalTo = value
        case "startAfter": startAfter = value
        case "startAt", "endAt", "endBefore": otherBounds.append(value)
        default: break
        }
    }

    /// The keys that a shallow read asks for: without an order it is that of the keys, and `startAfter` is a key without quotes, as the
    /// command line tools of Firebase send it (rest 4.3).
    func shallowRange() throws(RESTError) -> ShallowRange {
        if isEmpty { return ShallowRange() }
        let limits = try checkLimits()
        guard orderBy == nil, equalTo == nil, limitToLast == nil, otherBounds.isEmpty else { throw try refusal() }
        var range = ShallowRange(limit: limits)
        if let startAfter {
            do throws(KeyError) { range.after = try Key(validating: startAfter) } catch { throw Self.notAKey }
        }
        return range
    }

    /// What is wrong with the filters of a read that is not shallow; if nothing is, that they are not supported.
    func refusal() throws(RESTError) -> RESTError {
        guard let orderBy else {
            return RESTError("orderBy must be defined when other query parameters are defined")
        }
        guard let order = Self.primitive(orderBy), order.bytes.first == UInt8(ascii: "\"") else {
            return RESTError("orderBy must be a valid JSON encoded path")
        }
        let text = String(decoding: order.bytes.dropFirst().dropLast(), as: UTF8.self)
        guard ["$key", "$value", "$priority"].contains(text) || (try? Path(parsing: text))?.isRoot == false else {
            return RESTError("orderBy must be a valid JSON encoded path")
        }
        _ = try checkLimits()
        if equalTo != nil, startAfter != nil || !otherBounds.isEmpty {
            return RESTError("equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore")
        }
        for bound in [equalTo, startAfter] + otherBounds {
            if let bound { try Self.check(bound, isKey: text == "$key") }
        }
        return RESTError("queries are not supported by this version: it reads whole locations")
    }

    private static func check(_ bound: [UInt8], isKey: Bool) throws(RESTError) {
        guard let value = primitive(bound) else {
            throw RESTError("Constraint index field must be a JSON primitive")
        }
        guard isKey else { return }
        guard value.bytes.first == UInt8(ascii: "\"") else {
            throw RESTError("Provided key index type is invalid, must be string")
        }
        var key: [UInt8] = []
        value.bytes.dropFirst().dropLast().withUnsafeBytes { JSONText.appendUnescaped($0, to: &key) }
        if (try? Key(validating: key)) == nil { throw notAKey }
    }

    private static let notAKey = RESTError("Constraint key field must be a valid key name")

    /// The value of a JSON text that is neither an object nor an array.
    private static func primitive(_ text: [UInt8]) -> CanonicalJSON? {
        let first = text.first { $0 > 0x20 }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return nil }
        return try? CanonicalJSON.parse(text).value
    }

    /// `limitToFirst`, if it is there.
    private func checkLimits() throws(RESTError) -> Int? {
        guard limitToFirst == nil || limitToLast == nil else {
            throw RESTError("Only one of limitToFirst and limitToLast may be specified")
        }
        _ = try Self.limit("limitToLast", limitToLast)
        return try Self.limit("limitToFirst", limitToFirst)
    }

    private static func limit(_ name: String, _ text: [UInt8]?) throws(RESTError) -> Int? {
        guard let text else { return nil }
        guard let limit = Int(String(decoding: text, as: UTF8.self)) else {
            throw RESTError("\(name) must be an integer")
        }
        guard limit > 0 else { throw RESTError("\(name) must be positive") }
        return limit
    }
}

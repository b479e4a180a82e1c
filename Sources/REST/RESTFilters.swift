import HearthDelivery
import HearthJSONTree
import HearthTreeQueries

/// The parameters that order and filter a read (rest.md 2), as received.
struct RESTFilters: Equatable {
    private var orderBy: [UInt8]?
    private var limitToFirst: [UInt8]?
    private var limitToLast: [UInt8]?
    private var equalTo: [UInt8]?
    private var startAt: [UInt8]?
    private var startAfter: [UInt8]?
    private var endAt: [UInt8]?
    private var endBefore: [UInt8]?

    var isEmpty: Bool { self == RESTFilters() }

    mutating func set(_ name: String, _ value: [UInt8]) {
        switch name {
        case "orderBy": orderBy = value
        case "limitToFirst": limitToFirst = value
        case "limitToLast": limitToLast = value
        case "equalTo": equalTo = value
        case "startAt": startAt = value
        case "startAfter": startAfter = value
        case "endAt": endAt = value
        case "endBefore": endBefore = value
        default: break
        }
    }

    /// The selection of a shallow read: a range of keys if possible, so that no values need be read, or else a query.
    /// Without an order it is that of the keys, and `startAfter` is a key without quotes, as the command line tools of
    /// Firebase send it (rest.md 2).
    func shallowSelection() throws(RESTError) -> (range: ShallowRange, query: Query?) {
        if isEmpty { return (ShallowRange(), nil) }
        var keyRange = RESTFilters()
        keyRange.orderBy = orderBy
        keyRange.limitToFirst = limitToFirst
        keyRange.startAfter = startAfter
        if orderBy != nil || self != keyRange {
            let query = try query()
            guard self == keyRange, query?.index == .key else { return (ShallowRange(), query) }
        }
        var range = ShallowRange(limit: try limit()?.count)
        if let startAfter {
            let text = orderBy == nil ? startAfter : Self.primitive(startAfter)?.stringUTF8 ?? []
            do throws(KeyError) { range.after = try Key(validating: text) } catch { throw Self.notAKey }
        }
        return (range, nil)
    }

    /// The query; nil without filters.
    func query() throws(RESTError) -> Query? {
        if isEmpty { return nil }
        let index = try index()
        let limit = try limit()
        if equalTo != nil, startAt != nil || startAfter != nil || endAt != nil || endBefore != nil {
            throw RESTError("equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore")
        }
        if startAt != nil, startAfter != nil { throw RESTError("Only one of startAt and startAfter may be specified") }
        if endAt != nil, endBefore != nil { throw RESTError("Only one of endAt and endBefore may be specified") }
        let start = try Self.bound(startAt ?? equalTo ?? startAfter, in: index)
        let end = try Self.bound(endAt ?? equalTo ?? endBefore, in: index)
        do throws(QueryError) {
            return try Query(
                index: index,
                // A bound without a key that is not inclusive leaves out all children of this value.
                start: startAfter == nil ? start : start?.exclusive(missingKey: .highest),
                end: endBefore == nil ? end : end?.exclusive(missingKey: .lowest),
                limit: limit)
        } catch {
            throw RESTError("\(error)")
        }
    }

    private func index() throws(RESTError) -> QueryIndex {
        guard let orderBy else {
            throw RESTError("orderBy must be defined when other query parameters are defined")
        }
        guard let text = Self.primitive(orderBy)?.stringUTF8 else { throw Self.notAnOrder }
        if text.elementsEqual("$key".utf8) { return .key }
        if text.elementsEqual("$value".utf8) { return .value }
        if text.elementsEqual("$priority".utf8) { return .priority }
        guard let path = try? Path(parsing: text), !path.isRoot else { throw Self.notAnOrder }
        return .child(path)
    }

    /// A value; the SDK for JavaScript may have a key follow it after a comma, when it reads over REST (rest.md 2).
    private static func bound(_ text: [UInt8]?, in index: QueryIndex) throws(RESTError) -> QueryBound? {
        guard let text else { return nil }
        if index != .key, let both = primitives(text), let key = both.second.stringUTF8 {
            return QueryBound(both.first, key: QueryBound.BoundKey(parsing: key))
        }
        guard let value = primitive(text) else { throw RESTError("Constraint index field must be a JSON primitive") }
        if index == .key {
            guard let key = value.stringUTF8 else {
                throw RESTError("Provided key index type is invalid, must be string")
            }
            if (try? Key(validating: key)) == nil { throw notAKey }
        }
        return QueryBound(value)
    }

    private static let notAKey = RESTError("Constraint key field must be a valid key name")
    private static let notAnOrder = RESTError("orderBy must be a valid JSON encoded path")

    /// The value of a JSON text that is neither an object nor an array.
    private static func primitive(_ text: [UInt8]) -> CanonicalJSON? {
        let first = text.first { $0 > 0x20 }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return nil }
        return try? CanonicalJSON.parse(text).value
    }

    /// The values of two such texts with a comma between them.
    private static func primitives(_ text: [UInt8]) -> (first: CanonicalJSON, second: CanonicalJSON)? {
        var isString = false
        var isEscaped = false
        for (offset, byte) in text.enumerated() {
            if byte == UInt8(ascii: ","), !isString {
                guard let first = primitive(Array(text[..<offset])) else { return nil }
                return primitive(Array(text[(offset + 1)...])).map { (first, $0) }
            }
            if byte == UInt8(ascii: "\""), !isEscaped { isString.toggle() }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return nil
    }

    private func limit() throws(RESTError) -> QueryLimit? {
        guard limitToFirst == nil || limitToLast == nil else {
            throw RESTError("Only one of limitToFirst and limitToLast may be specified")
        }
        if let last = try Self.limit("limitToLast", limitToLast) { return QueryLimit(.last, last) }
        return try Self.limit("limitToFirst", limitToFirst).map { QueryLimit(.first, $0) }
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

import HearthJSONTree

/// A JSON value of the database.
///
///     try await room.setValue(["title": "Lobby", "open": true, "at": ServerValue.timestamp()])
///
/// Null, an empty object and an empty array all mean that there is no value. An array is read back as an object with
/// the keys `0`, `1`, …; ``array`` reads both forms.
public enum DatabaseValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([DatabaseValue])
    /// `.priority` and `.value` as keys mean a priority (see ``DataSnapshot/exportValue``).
    case object([String: DatabaseValue])
    /// A server value, filled in by the server; only written, never read.
    case server(ServerValue)
}

/// Values that the server fills in when it makes a write. Until then, observers of this client see an estimate.
public enum ServerValue: Hashable, Sendable {
    case now
    case add(Double)
    case addInteger(Int64)

    /// The server's time in milliseconds since 1970.
    public static func timestamp() -> DatabaseValue { .server(.now) }

    /// The present number, or 0, plus this one.
    public static func increment(_ delta: Int) -> DatabaseValue { .server(.addInteger(Int64(delta))) }

    /// The present number, or 0, plus this one.
    public static func increment(_ delta: Double) -> DatabaseValue { .server(.add(delta)) }
}

// MARK: Reading

extension DatabaseValue {
    /// Whether this is null or empty, also if it has members that are.
    public var isNull: Bool {
        switch self {
        case .null: true
        case .array(let elements): elements.allSatisfy(\.isNull)
        case .object(let members): members.allSatisfy { $0.key == ".priority" || $0.value.isNull }
        case .bool, .int, .double, .string, .server: false
        }
    }

    /// Nil if it is not a boolean.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// Nil if it is not a whole number.
    public var int: Int? {
        switch self {
        case .int(let value): Int(value)
        case .double(let value): Int(exactly: value)
        default: nil
        }
    }

    /// Nil if it is not a number.
    public var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// Nil if it is not a string.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// Nil for a value without children, and for an array that was not written yet.
    public var object: [String: DatabaseValue]? {
        if case .object(let value) = self { value } else { nil }
    }

    /// The elements of an array, or of an object whose keys are `0`, `1`, … up to twice their number; gaps are null.
    public var array: [DatabaseValue]? {
        if case .array(let elements) = self { return elements }
        guard let object else { return nil }
        var elements: [DatabaseValue] = []
        for (key, value) in object {
            guard let index = Int(key), index >= 0, String(index) == key, index < 2 * object.count else { return nil }
            if index >= elements.count {
                elements += repeatElement(.null, count: index + 1 - elements.count)
            }
            elements[index] = value
        }
        return elements
    }

    /// The child with a key; null if there is none. Setting null removes it.
    public subscript(key: String) -> DatabaseValue {
        get {
            object?[key] ?? array.flatMap { array in Int(key).flatMap { array.indices.contains($0) ? array[$0] : nil } }
                ?? .null
        }
        set {
            var children = object ?? [:]
            for (index, element) in (array ?? []).enumerated() where object == nil && element != .null {
                children[String(index)] = element
            }
            // Empty values stay, because they are a part of JSON for other programs.
            children[key] = newValue == .null ? nil : newValue
            self = children.isEmpty ? .null : .object(children)
        }
    }
}

// MARK: Literals

extension DatabaseValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Null.
    public init(nilLiteral: ()) { self = .null }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// A number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array.
    public init(arrayLiteral elements: DatabaseValue...) { self = .array(elements) }

    /// If a key occurs twice, the last one counts.
    public init(dictionaryLiteral elements: (String, DatabaseValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}

// MARK: Nodes

extension DatabaseValue {
    init(_ leaf: Leaf) {
        switch leaf {
        case .bool(let value): self = .bool(value)
        case .integer(let value): self = .int(value)
        case .double(let value): self = .double(value)
        case .string(let utf8): self = .string(String(decoding: utf8, as: UTF8.self))
        }
    }

    init(_ node: Node) { self.init(node, withPriorities: false) }

    init(_ node: Node, withPriorities: Bool) {
        let priority = withPriorities ? node.priority : nil
        if let leaf = node.leaf {
            self = priority.map { [".value": DatabaseValue(leaf), ".priority": DatabaseValue($0)] } ?? .init(leaf)
            return
        }
        var children: [String: DatabaseValue] = [:]
        for child in node.children {
            children[child.key.description] = DatabaseValue(child.node, withPriorities: withPriorities)
        }
        if let priority { children[".priority"] = DatabaseValue(priority) }
        self = children.isEmpty ? .null : .object(children)
    }

    /// The value as it is stored and sent.
    ///
    /// - parameter depth: the maximum number of levels.
    func canonical(
        depth: Int = Path.maximumDepth
    ) throws(DatabaseError) -> (value: CanonicalJSON, hasServerValues: Bool) {
        let text = try jsonText()
        do throws(JSONError) {
            return try CanonicalJSON.parse(text, limits: CanonicalJSON.Limits(depth: depth))
        } catch {
            throw .invalidValue(error.description)
        }
    }

    /// The value as JSON for other programs: arrays stay arrays, and empty values stay.
    ///
    /// - throws: `invalidValue` for a number that is not finite, and for a value that is too deep.
    public func jsonText() throws(DatabaseError) -> [UInt8] {
        var text: [UInt8] = []
        try appendJSON(to: &text, depth: 0)
        return text
    }

    private func appendJSON(to out: inout [UInt8], depth: Int) throws(DatabaseError) {
        // Deeper than any value may be; the parser checks the exact limit.
        guard depth <= 2 * Path.maximumDepth else { throw .invalidValue("the value is too deep") }
        switch self {
        case .null: out.append(contentsOf: "null".utf8)
        case .bool(let value): out.append(contentsOf: CanonicalJSON(bool: value).bytes)
        case .int(let value): out.append(contentsOf: CanonicalJSON(integer: value).bytes)
        case .double(let value), .server(.add(let value)):
            guard let number = CanonicalJSON(double: value) else { throw .invalidValue("a number is not finite") }
            if case .server = self {
                out.append(contentsOf: "{\".sv\":{\"increment\":".utf8 + number.bytes + "}}".utf8)
            } else {
                out.append(contentsOf: number.bytes)
            }
        case .string(let value): JSONText.appendQuoted(Array(value.utf8), to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                try element.appendJSON(to: &out, depth: depth + 1)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let children):
            out.append(UInt8(ascii: "{"))
            for (index, child) in children.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                JSONText.appendQuoted(Array(child.key.utf8), to: &out)
                out.append(UInt8(ascii: ":"))
                try child.value.appendJSON(to: &out, depth: depth + 1)
            }
            out.append(UInt8(ascii: "}"))
        case .server(.now): out.append(contentsOf: "{\".sv\":\"timestamp\"}".utf8)
        case .server(.addInteger(let value)):
            out.append(contentsOf: "{\".sv\":{\"increment\":\(value)}}".utf8)
        }
    }
}

extension DatabaseValue: CustomStringConvertible {
    /// JSON text with sorted keys, for people to read.
    public var description: String {
        guard let canonical = try? canonical().value else { return "(not storable)" }
        return canonical.description
    }
}

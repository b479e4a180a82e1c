import HearthBytes
import HearthJSONTree
import HearthJSONValues

/// Converts values of the database to `Decodable` types.
///
/// - A missing value is nil, or an empty array or dictionary. A missing member that is not optional is an error.
/// - Members that the type does not name are ignored.
/// - An array may be an object with the keys `0`, `1`, …; gaps of up to half of them are nil.
/// - A whole number may be read as a number with a fraction, and the reverse if nothing is lost.
/// - `Date`, `Data` and `URL` of Foundation are read as ``DatabaseEncoder`` writes them.
///
/// A database decodes with ``DatabaseOptions/coding``.
public struct DatabaseDecoder: Sendable {
    /// The forms for types that have several.
    public var options: DatabaseCodingOptions

    /// A decoder with these options.
    public init(_ options: DatabaseCodingOptions = DatabaseCodingOptions()) { self.options = options }

    /// - throws: `typeMismatch`, which names the member; `invalidValue` for a value that no database can hold.
    public func decode<Value: Decodable>(
        _ type: Value.Type, from value: DatabaseValue
    ) throws(DatabaseError) -> Value {
        let (canonical, hasServerValues) = try value.canonical()
        if hasServerValues { throw .typeMismatch("a server value has no value yet") }
        return try decode(type, from: Node(canonical))
    }

    /// - parameter key: the location of the value, for the error.
    func decode<Value: Decodable>(
        _ type: Value.Type, from node: Node, at key: String? = nil
    ) throws(DatabaseError) -> Value {
        let context = CodingContext(options)
        let path = key.map { [PlainCodingKey($0)] } ?? []
        do {
            return try Level(node: node, codingPath: path, context: context).decode(type)
        } catch let error as DatabaseError {
            throw error
        } catch let error as DecodingError {
            throw .typeMismatch(error.text)
        } catch {
            throw .typeMismatch("\(error)")
        }
    }

    private struct Level: Decoder, SingleValueDecodingContainer {
        let node: Node
        let codingPath: [any CodingKey]
        let context: CodingContext
        var userInfo: [CodingUserInfoKey: Any] { context.userInfo }

        func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
            if node.leaf != nil { throw mismatch("an object") }
            return KeyedDecodingContainer(Keyed(node: node, codingPath: codingPath, context: context))
        }

        func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
            Unkeyed(elements: try elements(), codingPath: codingPath, context: context)
        }

        func singleValueContainer() -> any SingleValueDecodingContainer { self }

        private func elements() throws -> [Node] {
            if node.leaf != nil { throw mismatch("an array") }
            var elements: [Node] = []
            for child in node.children {
                guard let index = child.key.integer.map(Int.init), index >= elements.count,
                    index < 2 * node.children.count
                else { throw mismatch("an array") }
                elements += repeatElement(.null, count: index - elements.count)
                elements.append(child.node)
            }
            return elements
        }

        func mismatch(_ what: String) -> DatabaseError {
            .typeMismatch("\(what) was expected\(codingPath.place)")
        }

        func decodeNil() -> Bool { node.isNull }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            let leaf: Any?
            switch type {
            case is DatabaseValue.Type: leaf = DatabaseValue(node)
            case is Bool.Type: leaf = DatabaseValue(node).bool
            case is String.Type: leaf = DatabaseValue(node).string
            case let type as any (BinaryFloatingPoint & Decodable).Type: leaf = floating(type)
            case let type as any (FixedWidthInteger & Decodable).Type: leaf = integer(type)
            default:
                if let foundation = context.foundationType(type) { return try decode(type, foundation) }
                return try Value(from: self)
            }
            guard let value = leaf as? Value else { throw mismatch("\(type)") }
            return value
        }

        /// A Foundation value, decoded from the form in which it codes itself.
        private func decode<Value: Decodable>(_ type: Value.Type, _ foundation: FoundationType) throws -> Value {
            let own: Node
            switch (foundation, node.leaf) {
            case (.date, let leaf?):
                guard let time = DatabaseValue(leaf).double else { throw mismatch("Date") }
                let seconds = context.options.dateStrategy == .secondsSince1970 ? time : time / 1000
                guard let leaf = Leaf(number: seconds - FoundationType.referenceDate) else { throw mismatch("Date") }
                own = Node(leaf)
            case (.data, .string(let text)?):
                guard let bytes = Base64.standard.decode(text) else { throw mismatch("Base64 text") }
                let elements = bytes.enumerated().compactMap { index, byte in
                    (try? Key(validating: String(index))).map { (key: $0, node: Node(.integer(Int64(byte)))) }
                }
                own = Node(children: elements)
            case (.url, .string?):
                guard let key = try? Key(validating: "relative") else { throw mismatch("URL") }
                own = Node(children: [(key: key, node: node)])
            default: throw mismatch("\(type)")
            }
            return try Value(from: Level(node: own, codingPath: codingPath, context: context))
        }

        private func floating<Number: BinaryFloatingPoint>(_ type: Number.Type) -> Number? {
            switch node.leaf {
            case .integer(let value)?: Number(Double(value))
            case .double(let value)?: Number(value)
            default: nil
            }
        }

        private func integer<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
            switch node.leaf {
            case .integer(let value)?: Number(exactly: value)
            case .double(let value)?: Number(exactly: value)
            default: nil
            }
        }
    }

    private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let node: Node
        let codingPath: [any CodingKey]
        let context: CodingContext

        var allKeys: [Key] { node.children.compactMap { Key(stringValue: $0.key.description) } }

        func contains(_ key: Key) -> Bool { !level(key).node.isNull }

        private func level(_ key: some CodingKey) -> Level {
            let child = (try? HearthJSONTree.Key(validating: key.stringValue)).map { node.child($0) }
            return Level(node: child ?? .null, codingPath: codingPath + [key], context: context)
        }

        func decodeNil(forKey key: Key) -> Bool { level(key).node.isNull }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            try level(key).decode(type)
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> {
            try level(key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try level(key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder { level(PlainCodingKey("super")) }

        func superDecoder(forKey key: Key) throws -> any Decoder { level(key) }
    }

    private struct Unkeyed: UnkeyedDecodingContainer {
        let elements: [Node]
        let codingPath: [any CodingKey]
        let context: CodingContext
        private(set) var currentIndex = 0

        init(elements: [Node], codingPath: [any CodingKey], context: CodingContext) {
            self.elements = elements
            self.codingPath = codingPath
            self.context = context
        }

        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex >= elements.count }

        private mutating func next() throws -> Level {
            guard !isAtEnd else {
                throw DatabaseError.typeMismatch("the array has only \(elements.count) elements\(codingPath.place)")
            }
            defer { currentIndex += 1 }
            let path = codingPath + [PlainCodingKey(currentIndex)]
            return Level(node: elements[currentIndex], codingPath: path, context: context)
        }

        mutating func decodeNil() -> Bool {
            guard !isAtEnd, elements[currentIndex].isNull else { return false }
            currentIndex += 1
            return true
        }

        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().decode(type) }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> {
            try next().container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try next().unkeyedContainer()
        }

        mutating func superDecoder() throws -> any Decoder { try next() }
    }
}

extension DecodingError {
    /// A description of the error and its location, for people.
    fileprivate var text: String {
        switch self {
        case .keyNotFound(let key, let context):
            "the member '\(key.stringValue)' is missing\(context.codingPath.place)"
        case .valueNotFound(let type, let context): "\(type) was expected\(context.codingPath.place)"
        case .typeMismatch(let type, let context): "\(type) was expected\(context.codingPath.place)"
        case .dataCorrupted(let context): context.debugDescription + context.codingPath.place
        @unknown default: "\(self)"
        }
    }
}

extension DatabaseValue: Decodable {
    /// From a database, the value itself; from other decoders, the values that they provide.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([DatabaseValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: DatabaseValue].self))
        }
    }
}

extension DatabaseValue {
    /// The value, decoded as another type.
    ///
    /// - throws: as ``DatabaseDecoder/decode(_:from:)``.
    public func decoded<Value: Decodable>(
        as type: Value.Type, decoder: DatabaseDecoder = DatabaseDecoder()
    ) throws(DatabaseError) -> Value {
        try decoder.decode(type, from: self)
    }
}

import JSONTree

/// Turns values of the database into `Decodable` ones. What is not there is nil, or an empty array or dictionary; an
/// array may be an object with the keys `0`, `1`, …
enum DatabaseDecoder {
    /// - parameter key: where the value is, for the error.
    static func decode<Value: Decodable>(
        _ type: Value.Type, from node: Node, at key: String? = nil
    ) throws(DatabaseError) -> Value {
        do {
            return try Level(node: node, codingPath: key.map { [PlainKey($0)] } ?? []).decode(type)
        } catch let error as DatabaseError {
            throw error
        } catch {
            throw .typeMismatch("\(error)")
        }
    }

    private struct Level: Decoder, SingleValueDecodingContainer {
        let node: Node
        let codingPath: [any CodingKey]
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
            if node.leaf != nil { throw mismatch("an object") }
            return KeyedDecodingContainer(Keyed(node: node, codingPath: codingPath))
        }

        func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
            Unkeyed(elements: try elements(), codingPath: codingPath)
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
            let place = codingPath.map(\.stringValue).joined(separator: "/")
            return .typeMismatch("\(what) was expected" + (place.isEmpty ? "" : " at \(place)"))
        }

        func decodeNil() -> Bool { node.isNull }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            if type == DatabaseValue.self, let value = DatabaseValue(node) as? Value { return value }
            if type == Bool.self, case .bool(let value)? = node.leaf, let value = value as? Value { return value }
            if type == String.self, case .string(let utf8)? = node.leaf,
                let value = String(decoding: utf8, as: UTF8.self) as? Value
            {
                return value
            }
            if let type = type as? any FloatingPointValue.Type, let value = floating(type) as? Value { return value }
            if let type = type as? any (FixedWidthInteger & Decodable).Type, let value = integer(type) as? Value {
                return value
            }
            if type is any LeafValue.Type { throw mismatch("\(type)") }
            return try Value(from: self)
        }

        private func floating(_ type: any FloatingPointValue.Type) -> Any? {
            switch node.leaf {
            case .integer(let value)?: type.make(Double(value))
            case .double(let value)?: type.make(value)
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

        var allKeys: [Key] { node.children.compactMap { Key(stringValue: $0.key.description) } }

        func contains(_ key: Key) -> Bool { !level(key).node.isNull }

        private func level(_ key: some CodingKey) -> Level {
            let child = (try? JSONTree.Key(validating: key.stringValue)).map { node.child($0) }
            return Level(node: child ?? .null, codingPath: codingPath + [key])
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

        func superDecoder() throws -> any Decoder { level(PlainKey("super")) }

        func superDecoder(forKey key: Key) throws -> any Decoder { level(key) }
    }

    private struct PlainKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    private struct Unkeyed: UnkeyedDecodingContainer {
        let elements: [Node]
        let codingPath: [any CodingKey]
        private(set) var currentIndex = 0

        init(elements: [Node], codingPath: [any CodingKey]) {
            self.elements = elements
            self.codingPath = codingPath
        }

        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex >= elements.count }

        private mutating func next() throws -> Level {
            guard !isAtEnd else { throw DatabaseError.typeMismatch("the array has only \(elements.count) elements") }
            defer { currentIndex += 1 }
            return Level(node: elements[currentIndex], codingPath: codingPath)
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

/// The types that one leaf of the tree can become.
private protocol LeafValue {}
private protocol FloatingPointValue: LeafValue {
    static func make(_ value: Double) -> Any
}

extension Bool: LeafValue {}
extension String: LeafValue {}
extension Int: LeafValue {}
extension Int8: LeafValue {}
extension Int16: LeafValue {}
extension Int32: LeafValue {}
extension Int64: LeafValue {}
extension UInt: LeafValue {}
extension UInt8: LeafValue {}
extension UInt16: LeafValue {}
extension UInt32: LeafValue {}
extension UInt64: LeafValue {}
extension Double: FloatingPointValue {
    static func make(_ value: Double) -> Any { value }
}
extension Float: FloatingPointValue {
    static func make(_ value: Double) -> Any { Float(value) }
}

extension DatabaseValue: Decodable {
    /// From a database the value as it is; from other decoders what they have.
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

/// Turns `Encodable` values into database values. A value of type ``DatabaseValue`` stays what it is, so server values
/// can stand in types of one's own.
enum DatabaseEncoder {
    static func encode(_ value: some Encodable) throws(DatabaseError) -> DatabaseValue {
        if let value = value as? DatabaseValue { return value }
        let box = Box()
        do {
            try value.encode(to: Level(box: box, codingPath: []))
        } catch let error as DatabaseError {
            throw error
        } catch {
            throw .invalidValue("\(error)")
        }
        return box.value
    }

    /// A value while it is being put together.
    private final class Box {
        private enum Kind {
            case leaf
            case object
            case array
        }
        private var kind = Kind.leaf
        private var leaf = DatabaseValue.null
        private var members: [(key: String, box: Box)] = []

        var value: DatabaseValue {
            switch kind {
            case .leaf: leaf
            case .object: .object(Dictionary(members.map { ($0.key, $0.box.value) }) { _, last in last })
            case .array: .array(members.map(\.box.value))
            }
        }

        func set(_ value: DatabaseValue) { leaf = value }

        func beginObject() { kind = .object }

        func beginArray() { kind = .array }

        var count: Int { members.count }

        /// A new member of the object, or of the array.
        func add(_ key: String = "") -> Box {
            let box = Box()
            members.append((key, box))
            return box
        }

        func encode<Value: Encodable>(_ value: Value, _ path: [any CodingKey]) throws {
            switch value {
            case let value as DatabaseValue: set(value)
            case let value as Bool: set(.bool(value))
            case let value as String: set(.string(value))
            case let value as Double: set(.double(value))
            case let value as Float: set(.double(Double(value)))
            case let value as any BinaryInteger & Encodable: try setInteger(value, path)
            default: try value.encode(to: Level(box: self, codingPath: path))
            }
        }

        private func setInteger(_ value: any BinaryInteger & Encodable, _ path: [any CodingKey]) throws {
            guard let number = Int64(exactly: value) else {
                throw DatabaseError.invalidValue("\(value) does not fit 64 bits")
            }
            set(.int(number))
        }
    }

    private struct Level: Encoder {
        let box: Box
        let codingPath: [any CodingKey]
        var userInfo: [CodingUserInfoKey: Any] { [:] }

        func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
            box.beginObject()
            return KeyedEncodingContainer(Keyed(box: box, codingPath: codingPath))
        }

        func unkeyedContainer() -> any UnkeyedEncodingContainer {
            box.beginArray()
            return Unkeyed(box: box, codingPath: codingPath)
        }

        func singleValueContainer() -> any SingleValueEncodingContainer { Single(box: box, codingPath: codingPath) }
    }

    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let box: Box
        let codingPath: [any CodingKey]

        mutating func encodeNil(forKey key: Key) {}

        mutating func encode(_ value: some Encodable, forKey key: Key) throws {
            try box.add(key.stringValue).encode(value, codingPath + [key])
        }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            Level(box: box.add(key.stringValue), codingPath: codingPath + [key]).container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            Level(box: box.add(key.stringValue), codingPath: codingPath + [key]).unkeyedContainer()
        }

        mutating func superEncoder() -> any Encoder { Level(box: box.add("super"), codingPath: codingPath) }

        mutating func superEncoder(forKey key: Key) -> any Encoder {
            Level(box: box.add(key.stringValue), codingPath: codingPath + [key])
        }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let box: Box
        let codingPath: [any CodingKey]
        var count: Int { box.count }

        mutating func encodeNil() { _ = box.add() }

        mutating func encode(_ value: some Encodable) throws { try box.add().encode(value, codingPath) }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) -> KeyedEncodingContainer<Nested> {
            Level(box: box.add(), codingPath: codingPath).container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            Level(box: box.add(), codingPath: codingPath).unkeyedContainer()
        }

        mutating func superEncoder() -> any Encoder { Level(box: box.add(), codingPath: codingPath) }
    }

    private struct Single: SingleValueEncodingContainer {
        let box: Box
        let codingPath: [any CodingKey]

        mutating func encodeNil() { box.set(.null) }
        mutating func encode(_ value: some Encodable) throws { try box.encode(value, codingPath) }
    }
}

extension DatabaseValue: Encodable {
    /// For other encoders; one that writes to a database takes the value as it is.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let elements): try container.encode(elements)
        case .object(let children): try container.encode(children)
        case .server:
            throw EncodingError.invalidValue(
                self, .init(codingPath: encoder.codingPath, debugDescription: "a server value is only for databases"))
        }
    }
}
